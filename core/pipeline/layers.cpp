#include "core/pipeline/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/pipeline/read.h"
#include "core/pipeline/schema.h"

namespace tenon {
namespace {

constexpr std::size_t max_extends = 8;

bool is_path(std::string_view text) {
  return text.find('/') != text.npos || text.ends_with(".yaml") || text.ends_with(".yml");
}

class Loader {
 public:
  Loader(const Files& files, const LoadRequest& request) : files_(files), request_(request) {}

  Result<Layers> load() {
    auto path = locate(request_.pipeline, "pipeline", "", {});
    if (!path && request_.board_too) path = locate_board(path.errors()[0]);
    if (!path) return path.errors();
    std::vector<YamlPtr> chain = extended(*path);  // strongest first
    if (!reader_.errors.empty()) return reader_.errors;
    out_.path = *path;
    out_.is_board = chain.size() == 1 && only_board_keys(*chain[0]);

    std::vector<YamlPtr> weakest_first = defaults();
    if (const YamlPtr b = board(chain)) weakest_first.push_back(b);
    weakest_first.insert(weakest_first.end(), chain.rbegin(), chain.rend());
    if (!reader_.errors.empty()) return reader_.errors;

    out_.tree = weakest_first.front();
    for (std::size_t i = 1; i < weakest_first.size(); ++i)
      out_.tree = lay(out_.tree, weakest_first[i]);
    for (const std::string& s : request_.set) {
      auto t = apply_set(out_.tree, s);
      if (t)
        out_.tree = *t;
      else
        reader_.errors.insert(reader_.errors.end(), t.errors().begin(), t.errors().end());
    }
    if (!reader_.errors.empty()) return reader_.errors;
    return std::move(out_);
  }

 private:
  /// The file that a name or path means. Names: beside the file that says them, then in the shipped
  /// folders.
  Result<std::string> locate(const std::string& text, std::string_view kind,
                             const std::string& from, const Loc& at) {
    if (is_path(text)) return from.empty() ? text : join_path(from, text);
    const std::string sub = kind == "board" ? "boards/" : "";
    std::vector<std::string> folders = request_.share;
    if (!from.empty()) folders.insert(folders.begin(), from);
    for (const std::string& f : folders)
      if (const std::string p = join_path(f, sub + text + ".yaml"); files_.exists(p)) return p;
    const std::vector<std::string> known =
        kind == "board" ? board_names(files_, folders) : pipeline_names(files_, folders);
    const std::string near = did_you_mean(text, known);
    return Diag{
        .code = 2111,
        .loc = at,
        .what = fmt::format("no {} is called '{}'", kind, text),
        .fix = near.empty() ? "" : fmt::format("did you mean '{}'?", near),
        .notes = {fmt::format("{}s that ship: {}", kind,
                              known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))),
                  "a path has a '/' or ends in .yaml"}};
  }

  /// The board that the request's pipeline means; else `no_pipeline`, with what there is.
  Result<std::string> locate_board(Diag no_pipeline) {
    auto path = locate(request_.pipeline, "board", "", {});
    if (path) return path;
    const Diag& no_board = path.errors()[0];
    no_pipeline.what = fmt::format("no pipeline or board is called '{}'", request_.pipeline);
    if (no_pipeline.fix.empty()) no_pipeline.fix = no_board.fix;
    no_pipeline.notes.insert(no_pipeline.notes.begin() + 1, no_board.notes[0]);
    return no_pipeline;
  }

  /// A file's tree with its top level checked; null after an error.
  YamlPtr read(const std::string& path, const Loc& from, bool as_board) {
    const auto text = files_.read(path);
    if (!text) {
      Diag d = text.errors()[0];
      d.code = 2111;
      if (from.line) d.loc = from;
      reader_.errors.push_back(std::move(d));
      return nullptr;
    }
    out_.files.push_back(path);
    const auto tree = parse_yaml(*text, path);
    if (!tree) {
      reader_.errors.insert(reader_.errors.end(), tree.errors().begin(), tree.errors().end());
      return nullptr;
    }
    const std::size_t before = reader_.errors.size();
    check_top(**tree, as_board);
    return reader_.errors.size() == before ? *tree : nullptr;
  }

  void check_top(const YamlNode& tree, bool as_board) {
    if (tree.kind == YamlNode::Kind::null)
      return reader_.fail(2107, tree.loc, "the file is empty", "a pipeline starts with `tenon: 1`");
    if (!reader_.want_map(tree, as_board ? "a board" : "a pipeline")) return;
    for (const YamlEntry& e : tree.entries) check_key(e, as_board);
    const YamlEntry* version = tree.find("tenon");
    if (!version)
      return reader_.fail(2107, tree.entries.empty() ? tree.loc : tree.entries[0].key_loc,
                          "key 'tenon' is missing", "write `tenon: 1` first");
    if (version->value->text != "1" || version->value->quoted)
      reader_.fail(
          2110, version->value->loc,
          fmt::format("schema version {}, this tenon reads version 1", describe(*version->value)),
          "write `tenon: 1`, or use a newer tenon");
  }

  void check_key(const YamlEntry& e, bool as_board) {
    for (std::string_view later : {"edit", "vars", "when"})
      if (e.key == later)
        return reader_.fail(2108, e.key_loc, fmt::format("'{}' is not in this version", e.key),
                            "write the steps out, or use `extends` and `--set`");
    std::vector<std::string> known;
    for (const schema::Key& k : schema::file_keys()) {
      if (k.name == e.key && (k.board || !as_board)) return;
      if (k.name == e.key)
        return reader_.fail(
            2101, e.key_loc,
            fmt::format("key '{}' in a board: a board states facts of a device", e.key),
            "put it into the pipeline");
      if (k.board || !as_board) known.emplace_back(k.name);
    }
    const std::string near = did_you_mean(e.key, known);
    reader_.fail(2101, e.key_loc, fmt::format("unknown key '{}'", e.key),
                 near.empty() ? "" : fmt::format("did you mean '{}'?", near),
                 {fmt::format("keys: {}", fmt::join(known, ", "))});
  }

  /// As merge(), but reserved ranges add up: no file may free what a board has reserved.
  static YamlPtr lay(const YamlPtr& base, const YamlPtr& over) {
    const YamlPtr out = merge(base, over);
    const YamlEntry *old = base->find("reserved"), *more = over->find("reserved");
    if (!old || !more || old->value->kind != YamlNode::Kind::list ||
        more->value->kind != YamlNode::Kind::list)
      return out;
    auto both = std::make_shared<YamlNode>(*more->value);
    both->items.insert(both->items.begin(), old->value->items.begin(), old->value->items.end());
    auto result = std::make_shared<YamlNode>(*out);
    std::ranges::find(result->entries, "reserved", &YamlEntry::key)->value = both;
    return result;
  }

  static bool only_board_keys(const YamlNode& tree) {
    return std::ranges::all_of(tree.entries, [](const YamlEntry& e) {
      return std::ranges::any_of(schema::file_keys(),
                                 [&](const schema::Key& k) { return k.name == e.key && k.board; });
    });
  }

  /// The file and what it extends, strongest first.
  std::vector<YamlPtr> extended(std::string path) {
    std::vector<YamlPtr> chain;
    Loc from;
    for (;;) {
      const YamlPtr tree = read(path, from, false);
      if (!tree) return chain;
      chain.push_back(tree);
      const YamlEntry* e = tree->find("extends");
      if (!e) return chain;
      from = e->value->loc;
      const auto next =
          locate(reader_.text(*e->value, "'extends'"), "pipeline", folder_of(path), from);
      if (!next) {
        reader_.errors.insert(reader_.errors.end(), next.errors().begin(), next.errors().end());
        return chain;
      }
      if (std::ranges::find(out_.files, *next) != out_.files.end() || chain.size() >= max_extends) {
        reader_.fail(2112, from,
                     chain.size() >= max_extends
                         ? fmt::format("more than {} files extend each other", max_extends)
                         : fmt::format("'{}' extends itself in the end", *next));
        return chain;
      }
      path = *next;
      out_.notes[path] = fmt::format("extended by {}:{}:{}", from.file, from.line, from.col);
    }
  }

  YamlPtr board(const std::vector<YamlPtr>& chain) {
    std::string name = request_.board, from;
    Loc at;
    for (const YamlPtr& t : chain)
      if (const YamlEntry* e = name.empty() ? t->find("board") : nullptr) {
        name = reader_.text(*e->value, "'board'");
        at = e->value->loc;
        from = folder_of(at.file);
      }
    if (name.empty()) return nullptr;
    const auto path = locate(name, "board", from, at);
    if (!path) {
      reader_.errors.insert(reader_.errors.end(), path.errors().begin(), path.errors().end());
      return nullptr;
    }
    out_.board = *path;
    if (at.line) out_.notes[*path] = fmt::format("board of {}:{}:{}", at.file, at.line, at.col);
    return read(*path, at, true);
  }

  /// defaults.yaml of the shipped folders; none is fine.
  std::vector<YamlPtr> defaults() {
    for (const std::string& f : request_.share) {
      const std::string path = join_path(f, "defaults.yaml");
      if (!files_.exists(path)) continue;
      const YamlPtr tree = read(path, {}, false);
      return tree ? std::vector{tree} : std::vector<YamlPtr>{};
    }
    return {};
  }

  const Files& files_;
  const LoadRequest& request_;
  Reader reader_;
  Layers out_;
};

}  // namespace

Result<Layers> load_layers(const Files& files, const LoadRequest& request) {
  return Loader(files, request).load();
}

YamlPtr merge(const YamlPtr& base, const YamlPtr& over, int depth) {
  if (depth == 0 || base->kind != YamlNode::Kind::map || over->kind != YamlNode::Kind::map)
    return over;
  auto out = std::make_shared<YamlNode>(*over);
  out->entries = base->entries;
  for (const YamlEntry& e : over->entries) {
    const auto it = std::ranges::find(out->entries, e.key, &YamlEntry::key);
    if (it == out->entries.end())
      out->entries.push_back(e);
    else
      *it = {e.key, e.key_loc, merge(it->value, e.value, depth - 1)};
  }
  return out;
}

std::vector<std::string> pipeline_names(const Files& files, const std::vector<std::string>& share) {
  std::vector<std::string> names;
  for (const std::string& f : share)
    for (const std::string& n : files.list(f))
      if (n.ends_with(".yaml") && n != "defaults.yaml") names.push_back(n.substr(0, n.size() - 5));
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

std::vector<std::string> board_names(const Files& files, const std::vector<std::string>& share) {
  std::vector<std::string> folders;
  for (const std::string& f : share) folders.push_back(join_path(f, "boards"));
  return pipeline_names(files, folders);
}

}  // namespace tenon
