// Every expected failure is a value with a place, a reason and a remedy. Three kinds are kept
// apart: the user's program or configuration is wrong -> Diag; a plugin broke its contract -> Diag
// that names the plugin; Tenon itself is wrong -> TENON_BUG, which aborts and names the place.
#ifndef TENON_DIAG_H
#define TENON_DIAG_H

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenon {

/// Text that copies share: a module has many places and few files.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string s)
      : text_(s.empty() ? nullptr : std::make_shared<const std::string>(std::move(s))) {}
  SharedText(std::string_view s) : SharedText(std::string(s)) {}
  SharedText(const char* s) : SharedText(std::string(s)) {}
  const std::string& str() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return !text_; }
  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.str() == b.str();
  }
  friend std::strong_ordering operator<=>(const SharedText& a, const SharedText& b) {
    return a.str() <=> b.str();
  }

 private:
  std::shared_ptr<const std::string> text_;  // never of an empty one
};

/// A place in a file. 1-based; line 0 = the whole file (or, with an empty file, "made by the
/// compiler"). Columns count code points of UTF-8 text; `end_col` is one past the last (0 = one
/// column).
struct Loc {
  SharedText file;
  int line = 0, col = 0, end_col = 0;
  bool operator==(const Loc&) const = default;
};

enum class Severity : std::uint8_t { error, warning, note };

/// One message. `code` is the number of the TN code (2104 is printed `TN2104`; `tenon explain
/// TN2104` has its page). Ranges: 1xxx plugins, 2xxx configuration, 3xxx passes and verifier, 4xxx
/// storage plan, 5xxx vendors, 6xxx code generation, 7xxx import, 8xxx run time, 9xxx bugs of
/// Tenon.
struct Diag {
  int code = 0;
  Loc loc;
  std::string what;  ///< what is wrong, in the user's terms, with the numbers that disagree
  std::string fix;   ///< what to do; empty when we do not know
  std::vector<std::string> notes;  ///< further facts, one line each ("= ..." in the text form)
  Severity severity = Severity::error;
};

using Diags = std::vector<Diag>;

/// Success, or at least one Diag. All failures of a phase are reported, not only the first.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Diag d) { diags_.push_back(std::move(d)); }
  Status(Diags d) : diags_(std::move(d)) {}
  explicit operator bool() const { return diags_.empty(); }
  const Diags& errors() const { return diags_; }
  Diags&& take() && { return std::move(diags_); }

 private:
  Diags diags_;
};

/// A T, or at least one Diag.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T v) : v_(std::in_place_index<0>, std::move(v)) {}
  Result(Diag d) : v_(std::in_place_index<1>) { std::get<1>(v_).push_back(std::move(d)); }
  Result(Diags d) : v_(std::in_place_index<1>, std::move(d)) {}
  explicit operator bool() const { return v_.index() == 0; }
  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }
  const Diags& errors() const { return std::get<1>(v_); }
  Status status() const { return v_.index() == 0 ? Status() : Status(std::get<1>(v_)); }

 private:
  std::variant<T, Diags> v_;
};

/// Prints `what` with its place and aborts: a law of Tenon's own is broken.
[[noreturn]] void bug(const char* file, int line, std::string_view what);

}  // namespace tenon

#define TENON_BUG(what) ::tenon::bug(__FILE__, __LINE__, (what))
/// A law that holds unless Tenon itself is wrong. Checked in release too; keep it off hot paths.
#define TENON_CHECK(cond) ((cond) ? void(0) : TENON_BUG("law broken: " #cond))

#endif
