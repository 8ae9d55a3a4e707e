#include "tenon/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/ir/verify.h"
#include "core/text/reader.h"
#include "core/text/write.h"

namespace tenon {
namespace text {
namespace {

constexpr std::uint64_t major_version = 1, minor_version = 0;

void put_symbol(std::string& out, const SymbolInfo& s) {
  out += fmt::format("symbol {} [{}, {}]\n", quoted(s.name), s.min,
                     s.max ? std::to_string(*s.max) : "?");
}

/// Reads the items of a module one after the other. After an error it goes on at the next item.
class ModuleReader {
 public:
  ModuleReader(Reader& r, Module& m, const Blobs& blobs) : r_(r), m_(m), ctx_{&m.symbols, &blobs} {}

  void run() {
    try {
      header();
    } catch (Abandon) {
      return;  // what follows may be anything
    }
    while (!r_.at_end() && !r_.full()) {
      const std::size_t start = r_.mark();
      try {
        item();
      } catch (Abandon) {
        if (r_.mark() == start) r_.take();
        if (!at_item()) r_.resync_item();
      }
    }
  }

  const Places& places() const { return places_; }

 private:
  bool at_item() const {
    return r_.peek().col == 1 && (r_.peek().is_word("func") || r_.peek().is_word("compute") ||
                                  r_.peek().is_word("kernel"));
  }

  void header() {
    places_.module = r_.loc(r_.peek());
    r_.expect_word("tenon", "and the version of the text form, like `tenon 1.0`");
    const Token& t = r_.peek();
    if (t.kind != Tok::real && t.kind != Tok::integer)
      r_.unexpected("the version of the text form, like 1.0");
    const std::string_view major = t.raw.substr(0, t.raw.find('.'));
    r_.take();
    if (major != std::to_string(major_version))
      r_.fail(t, code::version,
              fmt::format("the text is of version {}, this reader knows {}.{}", t.raw,
                          major_version, minor_version),
              fmt::format("read it with a Tenon whose text form is version {}", t.raw));
  }

  void item() {
    const Token& t = r_.peek();
    if (t.is_word("module")) return module();
    if (t.is_word("symbol")) return symbol();
    if (t.is_word("func")) return read_function(r_, m_, ctx_);
    if (t.is_word("compute")) {
      const Loc at = r_.loc(t);
      m_.computes.push_back(read_compute(r_));
      places_.computes.try_emplace(m_.computes.back().name, at);
    } else if (t.is_word("kernel")) {
      const Loc at = r_.loc(t);
      m_.kernels.push_back(read_kernel(r_));
      places_.kernels.try_emplace(m_.kernels.back().kernel.symbol, at);
    } else if (t.is_word("plan")) {
      m_.plan = std::make_shared<const StoragePlan>(read_plan(r_));
    } else {
      r_.unexpected("an item of a module: module, symbol, func, compute, kernel or plan");
    }
  }

  void module() {
    const Token& t = r_.take();
    if (named_) r_.error(t, code::twice, "the module is named twice");
    named_ = true;
    m_.name = r_.string("the name of the module");
    if (r_.accept_word("attrs")) m_.attrs = read_attrs(r_, ctx_);
  }

  void symbol() {
    SymbolInfo s;
    const Loc at = r_.loc(r_.take());
    s.name = r_.string("the name of the symbol");
    r_.expect("[", "and the bounds of the symbol");
    s.min = r_.integer("the least value");
    r_.expect(",", "between the bounds");
    if (!r_.accept("?")) s.max = r_.integer("the greatest value, or `?`");
    r_.expect("]", "after the bounds");
    places_.symbols.try_emplace(s.name, at);
    m_.symbols.push_back(std::move(s));
  }

  Reader& r_;
  Module& m_;
  ReadContext ctx_;
  Places places_;
  bool named_ = false;
};

/// Errors of the lexer came first; people read from the top.
Diags in_order(Diags errors) {
  std::ranges::stable_sort(errors, {},
                           [](const Diag& d) { return std::pair(d.loc.line, d.loc.col); });
  return errors;
}

/// `rule` on the whole text.
template <class T, class Rule>
Result<T> whole(std::string_view text, std::string_view file, Rule rule) {
  Reader r(text, file);
  std::optional<T> out;
  try {
    out = rule(r);
    if (!r.at_end()) r.unexpected("the end of the text");
  } catch (Abandon) {
  }
  if (!r.errors().empty()) return in_order(std::move(r.errors()));
  return std::move(*out);
}

}  // namespace
}  // namespace text

std::string print(const Module& m, const PrintOptions& options) {
  std::string out = fmt::format("tenon {}.{}\n", text::major_version, text::minor_version);
  out += "module " + text::quoted(m.name);
  if (!m.attrs.empty()) {
    out += " attrs ";
    text::put_attrs(out, m.attrs, m.symbols, options.blobs);
  }
  out += "\n";
  for (const SymbolInfo& s : m.symbols) text::put_symbol(out, s);
  for (const Function& f : m.functions) {
    out += "\n";
    text::put_function(out, m, f, options);
  }
  for (const ComputeFunction& c : m.computes) {
    out += "\n";
    text::put_compute(out, c.compute, c.name, c.schedule ? &*c.schedule : nullptr);
  }
  for (const KernelFunction& k : m.kernels) {
    out += "\n";
    text::put_kernel(out, k.kernel, &k);
  }
  if (m.plan) {
    out += "\n";
    text::put_plan(out, *m.plan);
  }
  return out;
}

std::string print(const Module& m, const Function& f) {
  std::string out;
  text::put_function(out, m, f, {});
  return out;
}

std::string print(const te::Compute& c, std::string_view name) {
  std::string out;
  text::put_compute(out, c, name, nullptr);
  return out;
}

std::string print(const Schedule& s, const te::Compute& c) {
  std::string out;
  text::put_schedule(out, s, c, "");
  return out;
}

std::string print(const tir::Kernel& k) {
  std::string out;
  text::put_kernel(out, k, nullptr);
  return out;
}

Result<Module> parse_module(std::string_view text, std::string_view file,
                            std::shared_ptr<const OpTable> ops, const Blobs& blobs) {
  text::Reader r(text, file);
  Module m(std::move(ops));
  text::ModuleReader items(r, m, blobs);
  items.run();
  if (!r.errors().empty()) return text::in_order(std::move(r.errors()));
  if (Status s = verify(m, items.places()); !s) return std::move(s).take();
  return m;
}

Result<te::Compute> parse_compute(std::string_view text, std::string_view file) {
  return text::whole<te::Compute>(text, file, [](text::Reader& r) {
    const text::Token first = r.peek();
    te::Compute c = text::read_compute(r).compute;
    std::string why = te::check(c);
    if (why.empty()) why = check_plain(c);
    if (!why.empty()) r.fail(first, 3019, why);
    return c;
  });
}

Result<Schedule> parse_schedule(std::string_view text, std::string_view file,
                                const te::Compute& c) {
  return text::whole<Schedule>(text, file, [&](text::Reader& r) {
    const text::Token first = r.peek();
    Schedule s = text::read_schedule(r, c);
    if (std::string why = check_schedule(s, c); !why.empty()) r.fail(first, 3020, why);
    return s;
  });
}

Result<tir::Kernel> parse_kernel(std::string_view text, std::string_view file) {
  return text::whole<tir::Kernel>(text, file, [](text::Reader& r) {
    const text::Token first = r.peek();
    tir::Kernel k = text::read_kernel(r).kernel;
    if (std::string why = tir::check(k); !why.empty()) r.fail(first, 3021, why);
    return k;
  });
}

}  // namespace tenon
