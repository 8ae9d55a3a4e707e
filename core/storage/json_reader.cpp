#include "core/storage/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tenon {
namespace {

std::vector<const Where*> path_of(const Where& at) {
  std::vector<const Where*> out;
  for (const Where* w = &at; w->up; w = w->up) out.push_back(w);
  std::reverse(out.begin(), out.end());
  return out;
}

std::string show(const Where& at) {
  std::string out;
  for (const Where* w : path_of(at))
    out += w->key.empty() ? fmt::format("[{}]", w->index)
                          : fmt::format("{}{}", out.empty() ? "" : ".", w->key);
  return out.empty() ? "the document" : out;
}

/// Walks text that is known to be JSON, without building anything.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}
  std::size_t at() const { return i_; }

  void space() {
    while (i_ < text_.size() &&
           (text_[i_] == ' ' || text_[i_] == '\n' || text_[i_] == '\r' || text_[i_] == '\t'))
      ++i_;
  }
  // To the value of `key` of the object here, or to its element `index`. False when there is none.
  bool enter(const Where& w) {
    ++i_;  // { or [
    for (std::size_t n = 0;; ++n) {
      space();
      if (i_ >= text_.size() || text_[i_] == '}' || text_[i_] == ']') return false;
      bool found = w.key.empty() && n == w.index;
      if (!w.key.empty()) {
        const std::size_t begin = i_ + 1;
        skip_string();
        found = text_.substr(begin, i_ - 1 - begin) == w.key;
        space();
        ++i_;  // :
        space();
      }
      if (found) return true;
      skip_value();
      space();
      if (i_ < text_.size() && text_[i_] == ',') ++i_;
    }
  }

 private:
  void skip_string() {
    for (++i_; i_ < text_.size() && text_[i_] != '"'; ++i_)
      if (text_[i_] == '\\') ++i_;
    ++i_;
  }
  void skip_value() {
    int depth = 0;
    for (; i_ < text_.size(); ++i_) {
      const char c = text_[i_];
      if (c == '"') {
        skip_string();
        --i_;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (depth-- == 0) return;
      } else if (c == ',' && depth == 0) {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t i_ = 0;
};

std::string_view kind(const Json& j) { return j.type_name(); }

}  // namespace

Loc JsonReader::loc_of_byte(std::size_t byte) const {
  const std::string_view before = text_.substr(0, std::min(byte, text_.size()));
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 == 0
  const std::string_view line = before.substr(line_begin);
  const auto code_points = std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  return {std::string(file_), 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<int>(code_points), 0};
}

Loc JsonReader::locate(const Where& at) const {
  Walker w(text_);
  w.space();
  for (const Where* step : path_of(at)) {
    const std::size_t here = w.at();
    if (!w.enter(*step)) return loc_of_byte(here);  // a missing field: where its object begins
    w.space();
  }
  return loc_of_byte(w.at());
}

namespace {

/// Stops at the first key that an object has twice. A walk of its own, because the library's parser
/// with a callback looks through the whole array at the end of each object in it.
class Repeated final : public nlohmann::json_sax<Json> {
 public:
  std::optional<std::string> found;

  bool key(string_t& k) override {
    if (keys_.back().insert(k).second) return true;
    found = k;
    return false;
  }
  bool start_object(std::size_t) override { return keys_.emplace_back(), true; }
  bool end_object() override { return keys_.pop_back(), true; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

std::optional<Json> JsonReader::parse() {
  try {
    Json j = Json::parse(text_);
    Repeated repeated;
    Json::sax_parse(text_, &repeated);
    if (!repeated.found) return j;
    errors_.push_back(
        {.code = 4402,
         .loc = {std::string(file_)},
         .what = fmt::format("key '{}' is given twice in one object", *repeated.found),
         .fix = "remove one"});
  } catch (const Json::parse_error& e) {
    std::string_view what = e.what();
    what.remove_prefix(
        std::min(what.size(), what.find(": ") == what.npos ? 0 : what.find(": ") + 2));
    errors_.push_back({.code = 4401,
                       .loc = loc_of_byte(e.byte > 0 ? e.byte - 1 : 0),
                       .what = fmt::format("not JSON: {}", what),
                       .fix = "correct the text at this place"});
  } catch (const Json::exception& e) {
    errors_.push_back({.code = 4401,
                       .loc = {std::string(file_)},
                       .what = fmt::format("not JSON: {}", e.what()),
                       .fix = "correct the text"});
  }
  return std::nullopt;
}

void JsonReader::fail(const Where& at, std::string what, std::string fix, int code) {
  if (errors_.size() < 20)
    errors_.push_back({.code = code,
                       .loc = locate(at),
                       .what = fmt::format("{}: {}", show(at), what),
                       .fix = std::move(fix)});
}

bool JsonReader::object(const Json& j, const Where& at,
                        std::initializer_list<std::string_view> required,
                        std::initializer_list<std::string_view> optional) {
  if (!j.is_object()) return fail(at, fmt::format("an object is wanted, not {}", kind(j))), false;
  const std::size_t before = errors_.size();
  const auto in = [](auto list, std::string_view key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  for (const auto& [key, value] : j.items())
    if (!in(required, key) && !in(optional, key))
      fail({&at, key}, "unknown field",
           fmt::format("fields here: {}{}{}", fmt::join(required, ", "),
                       optional.size() ? ", " : "", fmt::join(optional, ", ")));
  for (const std::string_view key : required)
    if (!j.contains(key))
      fail(at, fmt::format("field '{}' is missing", key), fmt::format("add \"{}\"", key));
  return errors_.size() == before;
}

bool JsonReader::array(const Json& j, const Where& at) {
  if (!j.is_array()) fail(at, fmt::format("an array is wanted, not {}", kind(j)));
  return j.is_array();
}

std::optional<std::string> JsonReader::string(const Json& j, const Where& at) {
  if (j.is_string()) return j.get<std::string>();
  fail(at, fmt::format("a string is wanted, not {}", kind(j)));
  return std::nullopt;
}

std::optional<bool> JsonReader::boolean(const Json& j, const Where& at) {
  if (j.is_boolean()) return j.get<bool>();
  fail(at, fmt::format("true or false is wanted, not {}", kind(j)));
  return std::nullopt;
}

std::optional<double> JsonReader::number(const Json& j, const Where& at) {
  if (j.is_number() && j.get<double>() >= 0) return j.get<double>();
  fail(at, fmt::format("a number of 0 or more is wanted, not {}",
                       j.is_number() ? j.dump() : std::string(kind(j))));
  return std::nullopt;
}

std::optional<std::uint64_t> JsonReader::integer(const Json& j, const Where& at,
                                                 std::uint64_t max) {
  if (j.is_number_unsigned() && j.get<std::uint64_t>() <= max) return j.get<std::uint64_t>();
  fail(at, fmt::format("an integer of 0..{} is wanted, not {}", max,
                       j.is_number() ? j.dump() : std::string(kind(j))));
  return std::nullopt;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> JsonReader::interval(const Json& j,
                                                                            const Where& at,
                                                                            std::uint64_t max) {
  if (!j.is_array() || j.size() != 2) {
    fail(at, "a pair [first, end) is wanted, written [0, 3]");
    return std::nullopt;
  }
  const auto a = integer(j[0], {&at, {}, 0}, max), b = integer(j[1], {&at, {}, 1}, max);
  if (!a || !b) return std::nullopt;
  return std::pair(*a, *b);
}

}  // namespace tenon
