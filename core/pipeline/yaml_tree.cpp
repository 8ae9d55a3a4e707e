// The tree is built from the events of yaml-cpp, not from its nodes: those lose duplicate keys and
// places.
#include "core/pipeline/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "core/support/utf8.h"

namespace tenon {
namespace {

constexpr std::size_t max_bytes = 1 << 20, max_depth = 64, max_nodes = 100'000,
                      max_alias_nodes = 10'000;
constexpr std::size_t max_errors = 100;  // more are not collected

/// Thrown through yaml-cpp to stop it; what is wrong has been noted.
struct Stop {};

/// Byte places of the parser -> places that people see.
class Source {
 public:
  Source(std::string_view text, const std::string& file) : text_(text), file_(file) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') starts_.push_back(i + 1);
  }

  std::size_t offset(const YAML::Mark& m) const {
    const auto line = static_cast<std::size_t>(std::max(m.line, 0)),
               col = static_cast<std::size_t>(std::max(m.column, 0));
    return line < starts_.size() ? std::min(starts_[line] + col, text_.size()) : text_.size();
  }
  Loc loc(std::size_t from, std::size_t end) const {
    const std::size_t line =
        static_cast<std::size_t>(std::ranges::upper_bound(starts_, from) - starts_.begin()) - 1;
    const std::size_t line_end = line + 1 < starts_.size() ? starts_[line + 1] - 1 : text_.size();
    const int col = column(line, std::min(from, line_end));
    return {file_, static_cast<int>(line) + 1, col,
            column(line, std::max(from, std::min(end, line_end)))};
  }
  /// Past the anchor and the tag that may stand before a node. `tag` becomes the place of a tag.
  std::size_t skip_properties(std::size_t at, std::size_t* tag) const {
    while (at < text_.size() && (text_[at] == '&' || text_[at] == '!')) {
      if (text_[at] == '!') *tag = at;
      at = std::min(text_.find_first_of(" \t\r\n,]}", at), text_.size());
      at = std::min(text_.find_first_not_of(" \t\r\n", at), text_.size());
    }
    return at;
  }
  /// The end of the scalar that starts at `at`, on the same line.
  std::size_t scalar_end(std::size_t at, std::string_view value) const {
    const char quote = at < text_.size() ? text_[at] : '\0';
    if (quote == '"' || quote == '\'') {
      for (std::size_t i = at + 1; i < text_.size() && text_[i] != '\n'; ++i) {
        if (quote == '"' && text_[i] == '\\')
          ++i;
        else if (text_[i] == quote)
          return i + 1;
      }
    }
    return text_.substr(at).starts_with(value) ? at + value.size()
                                               : std::min(text_.find('\n', at), text_.size());
  }
  std::size_t word_end(std::size_t at) const {
    return std::min(text_.find_first_of(" \t\r\n,[]{}:", at + 1), text_.size());
  }
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool null_word(std::size_t i) const {
    const std::string_view rest = text_.substr(std::min(i, text_.size()));
    return rest.starts_with('~') || rest.starts_with("null") || rest.starts_with("Null") ||
           rest.starts_with("NULL");
  }

 private:
  /// 1-based, in code points. Goes on from the last answer where it can: a long line costs its
  /// length once.
  int column(std::size_t line, std::size_t at) const {
    if (starts_[line] > known_at_ || known_at_ > at || line != known_line_) {
      known_line_ = line;
      known_at_ = starts_[line];
      known_col_ = 1;
    }
    known_col_ += static_cast<int>(
        code_point_column(text_.substr(known_at_, at - known_at_), at - known_at_));
    known_at_ = at;
    return known_col_;
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<std::size_t> starts_{0};
  mutable std::size_t known_line_ = 0, known_at_ = 0;
  mutable int known_col_ = 1;
};

class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const Source& source) : source_(source) {}

  Diags errors;
  YamlPtr root;

  void OnDocumentStart(const YAML::Mark& m) override {
    if (root)
      refuse(2013, source_.loc(source_.offset(m), 0), "a second document",
             "put it into a file of its own");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& m, YAML::anchor_t anchor) override {
    std::size_t tag = npos;
    const std::size_t at = source_.skip_properties(source_.offset(m), &tag);
    YamlNode n;
    // A value that is not there has no place: it stands where its key stands.
    n.loc = source_.null_word(at) || stack_.empty() || !stack_.back().key
                ? source_.loc(at, source_.word_end(at))
                : stack_.back().key->key_loc;
    count(n);
    add(std::move(n), anchor, tag);
  }
  void OnAlias(const YAML::Mark& m, YAML::anchor_t anchor) override {
    const std::size_t at = source_.offset(m);
    const Loc loc = source_.loc(at, source_.word_end(at));
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end())
      return fatal(2013, loc, "an alias inside the node that it names", "write the values out");
    YamlNode n = *it->second;
    n.loc = loc;
    alias_nodes_ += n.size;
    if (alias_nodes_ > max_alias_nodes)
      return fatal(
          2012, loc,
          fmt::format("aliases expand to {} nodes, allowed are {}", alias_nodes_, max_alias_nodes),
          "write the values out, or use fewer aliases");
    count(n);
    add(std::move(n), 0, npos);
  }
  void OnScalar(const YAML::Mark& m, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    std::size_t tag = npos;
    const std::size_t at = source_.skip_properties(source_.offset(m), &tag);
    YamlNode n{.kind = YamlNode::Kind::scalar, .text = value};
    const char c = source_.at(at);
    n.quoted = c == '"' || c == '\'' || c == '|' || c == '>';
    n.loc = source_.loc(at, source_.scalar_end(at, value));
    variables(n);
    count(n);
    add(std::move(n), anchor, tag);
  }
  void OnSequenceStart(const YAML::Mark& m, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, m, anchor);
  }
  void OnMapStart(const YAML::Mark& m, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, m, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  static constexpr std::size_t npos = std::string_view::npos;

  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor;
    std::size_t tag;
    std::optional<YamlEntry> key;     // of a map: read, waiting for its value
    std::map<std::string, Loc> seen;  // keys of a map
  };

  void refuse(int code, Loc at, std::string what, std::string fix,
              std::vector<std::string> notes = {}) {
    if (code == 2013) what += " is not supported";
    errors.push_back({.code = code,
                      .loc = std::move(at),
                      .what = std::move(what),
                      .fix = std::move(fix),
                      .notes = std::move(notes)});
    if (errors.size() >= max_errors) throw Stop{};
  }
  void fatal(int code, Loc at, std::string what, std::string fix) {
    refuse(code, std::move(at), std::move(what), std::move(fix));
    throw Stop{};
  }

  void open(YamlNode::Kind kind, const YAML::Mark& m, YAML::anchor_t anchor) {
    std::size_t tag = npos;
    const std::size_t at = source_.skip_properties(source_.offset(m), &tag);
    YamlNode n{.kind = kind};
    n.loc = source_.loc(at, at + 1);
    if (stack_.size() >= max_depth)
      fatal(2012, n.loc, fmt::format("nesting is deeper than {} levels", max_depth),
            "flatten the file");
    count(n);
    stack_.push_back({.node = std::move(n), .anchor = anchor, .tag = tag, .key = {}, .seen = {}});
  }

  void close() {
    Frame f = std::move(stack_.back());
    stack_.pop_back();
    add(std::move(f.node), f.anchor, f.tag);
  }

  /// Counted when met, so that a file that is too large is given up early.
  void count(const YamlNode& n) {
    total_ += n.size;
    if (total_ > max_nodes)
      fatal(2012, n.loc, fmt::format("more than {} values", max_nodes), "split the file");
  }

  /// A finished node goes to its parent.
  void add(YamlNode n, YAML::anchor_t anchor, std::size_t tag) {
    if (tag != npos)
      refuse(2013, source_.loc(tag, source_.word_end(tag)), "a tag",
             "leave it out: the schema knows the types");
    if (stack_.size() + n.height > max_depth)
      fatal(2012, n.loc, fmt::format("nesting is deeper than {} levels", max_depth),
            "flatten the file");
    const YamlPtr node = std::make_shared<const YamlNode>(std::move(n));
    if (anchor) anchors_[anchor] = node;
    if (stack_.empty()) {
      root = node;
      return;
    }
    Frame& parent = stack_.back();
    if (parent.node.kind == YamlNode::Kind::map && !parent.key) return key(parent, *node);
    parent.node.size += node->size;
    parent.node.height = std::max(parent.node.height, node->height + 1);
    if (parent.node.kind == YamlNode::Kind::list) {
      parent.node.items.push_back(node);
      return;
    }
    YamlEntry e = std::move(*parent.key);
    parent.key.reset();
    e.value = node;
    // The first of two equal keys stays; the second has been reported.
    if (parent.seen.at(e.key) == e.key_loc) parent.node.entries.push_back(std::move(e));
  }

  void key(Frame& map, const YamlNode& n) {
    if (n.kind != YamlNode::Kind::scalar)
      fatal(2013, n.loc, fmt::format("{} as a key", describe(n)),
            "a key is text; put it in quotes where needed");
    if (n.text == "<<" && !n.quoted)
      refuse(2013, n.loc, "the merge key '<<'", "use `extends`, or write the values out");
    map.key = YamlEntry{n.text, n.loc, nullptr};
    const auto [first, is_new] = map.seen.emplace(n.text, n.loc);
    if (!is_new)
      refuse(2011, n.loc, fmt::format("key '{}' stands twice in one map", n.text),
             "keep one of them",
             {fmt::format("first at {}:{}:{}", first->second.file, first->second.line,
                          first->second.col)});
  }

  void variables(const YamlNode& n) {
    const std::size_t at = n.text.find("${");
    const bool bare = !n.quoted && n.text.size() > 1 && n.text[0] == '$' &&
                      (std::isalpha(static_cast<unsigned char>(n.text[1])) || n.text[1] == '_');
    if (at == npos && !bare) return;
    refuse(2013, n.loc, fmt::format("the variable in '{}'", n.text),
           "write the value; paths are relative to the file, and `--set` overrides any key");
  }

  const Source& source_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, YamlPtr> anchors_;  // finished nodes only
  std::size_t total_ = 0, alias_nodes_ = 0;
};

Diag malformed(Loc at, std::string what, std::string fix = "") {
  return {.code = 2010, .loc = std::move(at), .what = std::move(what), .fix = std::move(fix)};
}

/// What yaml-cpp would misread or read by guess.
std::optional<Diag> check_bytes(std::string_view text, const Source& source,
                                const std::string& file) {
  if (text.size() > max_bytes)
    return Diag{
        .code = 2012,
        .loc = {file},
        .what = fmt::format("the file has {} bytes, allowed are {}", text.size(), max_bytes)};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (const auto c = static_cast<unsigned char>(text[i]);
        (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F)
      return malformed(source.loc(i, i + 1), fmt::format("control character 0x{:02x}", c),
                       "YAML is text");
  const std::u32string points = code_points(text);
  std::size_t at = 0;
  for (char32_t c : points) {
    if (c == 0xFFFD && text.substr(at, 3) != "\xEF\xBF\xBD")
      return malformed(source.loc(at, at + 1), "not UTF-8", "save the file as UTF-8");
    at += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  }
  return std::nullopt;
}

}  // namespace

const YamlEntry* YamlNode::find(std::string_view key) const {
  const auto it = std::ranges::find(entries, key, &YamlEntry::key);
  return it == entries.end() ? nullptr : &*it;
}

std::string describe(const YamlNode& n) {
  switch (n.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
    case YamlNode::Kind::scalar:
      return fmt::format("'{}'", n.text.size() > 60 ? n.text.substr(0, 60) + "..." : n.text);
  }
  return "";
}

Result<YamlPtr> parse_yaml(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const Source source(text, file);
  if (auto d = check_bytes(text, source, file)) return *d;
  Builder builder(source);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
  } catch (const YAML::Exception& e) {
    const std::size_t at = source.offset(e.mark);
    builder.errors.push_back(malformed(source.loc(at, at + 1), "not well-formed YAML: " + e.msg,
                                       "check indentation, brackets and quotes"));
  }
  if (!builder.errors.empty()) return builder.errors;
  return builder.root ? builder.root
                      : std::make_shared<const YamlNode>(YamlNode{.loc = {file, 1, 1, 1}});
}

}  // namespace tenon
