#include "tenon/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/support/scalars.h"

namespace tenon {
namespace {

std::string range_text(const OptionRow& r) {
  const bool low = r.range.min != INT64_MIN, high = r.range.max != INT64_MAX;
  if (low && high) return fmt::format("{}..{}", r.range.min, r.range.max);
  if (low) return fmt::format("{} or more", r.range.min);
  return high ? fmt::format("at most {}", r.range.max) : "";
}

std::string listed(const OptionRow& r) {
  std::string s = r.key + " (" + r.type;
  if (const std::string range = range_text(r); !range.empty()) s += ", " + range;
  if (!r.dflt.empty() && r.dflt != "[]") s += ", default " + r.dflt;
  return s + ")";
}

std::string with_article(std::string_view type) {
  if (type == "int") return "an int";
  if (type == "bytes") return "a size in bytes";
  return "a " + std::string(type);
}

class Checker {
 public:
  Checker(const std::vector<OptionRow>& rows, std::string_view owner) : rows_(rows), owner_(owner) {
    const std::size_t open = owner.find('\''), close = owner.rfind('\'');
    id_ = open < close && close != owner.npos ? owner.substr(open + 1, close - open - 1) : owner;
  }

  void check(const OptionValue& o) {
    const auto row = std::ranges::find(rows_, o.key, &OptionRow::key);
    if (row == rows_.end()) return unknown(o);
    if (!seen_.insert(o.key).second)
      return fail(2106, o.key_loc, fmt::format("option '{}' of {} is given twice", o.key, owner_),
                  "keep one of them");
    const bool list = row->type == "list<string>";
    if (list != o.is_list)
      return fail(2105, o.loc,
                  fmt::format("option '{}' of {} takes {}, not a {}", o.key, owner_,
                              with_article(row->type), o.is_list ? "list" : "single value"),
                  list && !o.items.empty() ? fmt::format("write [{}]", o.items[0]) : "");
    if (!list && o.items.size() == 1) scalar(*row, o, o.items[0]);
  }

  Diags errors;

 private:
  void fail(int code, const Loc& at, std::string what, std::string fix) {
    errors.push_back({.code = code, .loc = at, .what = std::move(what), .fix = std::move(fix)});
  }

  void unknown(const OptionValue& o) {
    std::vector<std::string> keys, texts;
    for (const OptionRow& r : rows_) {
      keys.push_back(r.key);
      texts.push_back(listed(r));
    }
    const std::string near = did_you_mean(o.key, keys);
    errors.push_back(
        {.code = 2104,
         .loc = o.key_loc,
         .what = fmt::format("unknown option '{}' for {}", o.key, owner_),
         .fix = near.empty() ? "" : fmt::format("did you mean '{}'?", near),
         .notes = {rows_.empty() ? fmt::format("{} has no options", id_)
                                 : fmt::format("options of {}: {}", id_, fmt::join(texts, ", "))}});
  }

  void scalar(const OptionRow& row, const OptionValue& o, const std::string& text) {
    if (row.type == "string") return string(o, text);
    if (const auto choices = choices_of(row.type); !choices.empty())
      return choice(choices, o, text);
    if (o.quoted)
      return fail(2105, o.loc,
                  fmt::format("option '{}' of {} takes {}, but '{}' in quotes is a string", o.key,
                              owner_, with_article(row.type), text),
                  fmt::format("write {} without quotes", text));
    bool b = false;
    double d = 0;
    Bytes bytes;
    std::int64_t i = 0;
    if (row.type == "bool"    ? read_scalar(text, b)
        : row.type == "float" ? read_scalar(text, d)
                              : false)
      return;
    if (row.type == "int" && read_scalar(text, i)) return range(row, o, i, text);
    if (row.type == "bytes" && read_scalar(text, bytes))
      return range(row, o, static_cast<std::int64_t>(std::min<std::uint64_t>(bytes.n, INT64_MAX)),
                   text);
    const std::string better = suggested_spelling(row.type, text);
    fail(2105, o.loc,
         fmt::format("option '{}' of {} takes {}, got '{}'", o.key, owner_, with_article(row.type),
                     text),
         better.empty() ? "" : fmt::format("write {}", better));
  }

  void choice(const std::vector<std::string>& choices, const OptionValue& o,
              const std::string& text) {
    if (std::ranges::find(choices, text) != choices.end()) return;
    const std::string near = did_you_mean(text, choices);
    fail(2105, o.loc,
         fmt::format("option '{}' of {} is '{}', allowed are {}", o.key, owner_, text,
                     fmt::join(choices, ", ")),
         near.empty() ? "take one of these" : fmt::format("did you mean '{}'?", near));
  }

  void string(const OptionValue& o, const std::string& text) {
    if (o.quoted) return;
    if (text.empty() || text == "~" || text == "null")
      return fail(2105, o.loc, fmt::format("option '{}' of {} has no value", o.key, owner_),
                  "write '' for an empty string");
    if (doubtful_number(text))
      fail(2105, o.loc,
           fmt::format("option '{}' of {} takes a string, and {} may be a number", o.key, owner_,
                       text),
           fmt::format("write '{}' in quotes", text));
  }

  void range(const OptionRow& row, const OptionValue& o, std::int64_t v, const std::string& text) {
    if (v >= row.range.min && v <= row.range.max) return;
    fail(
        2105, o.loc,
        fmt::format("option '{}' of {} is {}, allowed is {}", o.key, owner_, text, range_text(row)),
        fmt::format("write {}", v < row.range.min ? row.range.min : row.range.max));
  }

  const std::vector<OptionRow>& rows_;
  std::string_view owner_, id_;
  std::set<std::string, std::less<>> seen_;
};

/// Edit distance with transpositions; `_` and `-` and the case of letters make no difference.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (!i || !j) {
        d[i][j] = i + j;
        continue;
      }
      const bool same = plain(a[i - 1]) == plain(b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + !same});
      if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) &&
          plain(a[i - 2]) == plain(b[j - 1]))
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

Status check_options(const std::vector<OptionRow>& rows, const OptionValues& values,
                     std::string_view owner) {
  Checker c(rows, owner);
  for (const OptionValue& o : values) c.check(o);
  return std::move(c.errors);
}

std::string detail::dflt(const std::vector<std::string>& v) {
  return fmt::format("[{}]", fmt::join(v, ", "));
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  if (word.size() > 80) return best;
  std::size_t best_distance = SIZE_MAX;
  for (const std::string& k : known) {
    if (k.size() > 80) continue;
    const std::size_t d = distance(word, k);
    if (d < best_distance && d <= std::max<std::size_t>(1, std::max(word.size(), k.size()) / 3)) {
      best = k;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace tenon
