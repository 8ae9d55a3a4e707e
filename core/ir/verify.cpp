#include "core/ir/verify.h"

#include <fmt/format.h>

#include "core/ir/breaches.h"
#include "core/ir/verify_body.h"

namespace tenon {
namespace {

Loc place(const std::map<std::string, Loc, std::less<>>& places, const std::string& name,
          const Loc& otherwise) {
  const auto it = places.find(name);
  return it == places.end() ? otherwise : it->second;
}

bool is_c_identifier(std::string_view s) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (s.empty() || !letter(s[0])) return false;
  for (char c : s)
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

/// Puts `item` into `map` by name; a name that is empty or taken breaks V2.
template <class Map, class T>
void index_name(Map& map, const std::string& name, const T& item, const char* kind, const Loc& loc,
                Breaches& out) {
  if (name.empty()) out.add(2, loc, fmt::format("a {} has no name", kind));
  if (!map.try_emplace(name, &item).second)
    out.add(2, loc, fmt::format("two {}s are called @{}", kind, name), "rename one of them");
}

void verify_symbols(const Module& m, const Places& places, Breaches& out) {
  std::map<std::string_view, int> seen;
  for (const SymbolInfo& s : m.symbols) {
    const Loc at = place(places.symbols, s.name, places.module);
    if (s.name.empty()) out.add(1, at, "a symbol has no name");
    if (seen[s.name]++ > 0) out.add(1, at, fmt::format("two symbols are called \"{}\"", s.name));
    if (s.min < 0)
      out.add(1, at, fmt::format("symbol \"{}\": the least value {} is negative", s.name, s.min));
    if (s.max && *s.max < s.min)
      out.add(
          1, at,
          fmt::format("symbol \"{}\": the bounds {} and {} leave no value", s.name, s.min, *s.max));
  }
}

ModuleIndex index_of(const Module& m, const Places& places, Breaches& out) {
  ModuleIndex index;
  for (const Function& f : m.functions)
    index_name(index.functions, f.name, f, "function", f.loc, out);
  for (const ComputeFunction& c : m.computes)
    index_name(index.computes, c.name, c, "compute", place(places.computes, c.name, places.module),
               out);
  for (const KernelFunction& k : m.kernels) {
    const Loc at = place(places.kernels, k.kernel.symbol, places.module);
    index_name(index.kernels, k.kernel.symbol, k, "kernel", at, out);
    if (!is_c_identifier(k.kernel.symbol))
      out.add(2, at, fmt::format("kernel symbol \"{}\" is not a C identifier", k.kernel.symbol));
  }
  return index;
}

void verify_computes(const Module& m, const Places& places, Breaches& out) {
  for (const ComputeFunction& c : m.computes) {
    const Loc at = place(places.computes, c.name, places.module);
    std::string why = te::check(c.compute);
    if (why.empty()) why = check_plain(c.compute);
    if (!why.empty()) {
      out.add(19, at, fmt::format("compute @{}: {}", c.name, why));
      continue;
    }
    if (!c.schedule) continue;
    if (why = check_schedule(*c.schedule, c.compute); !why.empty())
      out.add(20, at, fmt::format("schedule of @{}: {}", c.name, why));
  }
}

/// V22: kernel buffers of `scope`, in order, hold what `types` say; the first difference in words,
/// or "".
std::string differing_buffers(const tir::Kernel& k, tir::Scope scope,
                              const std::vector<TensorType>& types, const char* what) {
  std::size_t n = 0;
  for (const tir::Buffer& b : k.buffers) {
    if (b.scope != scope) continue;
    if (n < types.size()) {
      const auto size = elements(types[n]);
      if (b.dtype != types[n].dtype || !size || *size * types[n].lanes != b.elements)
        return fmt::format("{} {} of its compute is {}, but its buffer `{}` holds {} of {}", what,
                           n, to_string(types[n]), b.name, b.elements, name(b.dtype));
    }
    ++n;
  }
  return n == types.size() ? ""
                           : fmt::format("it has {} {}s, its compute {}", n, what, types.size());
}

void verify_kernels(const Module& m, const ModuleIndex& index, const Places& places,
                    Breaches& out) {
  for (const KernelFunction& k : m.kernels) {
    const Loc at = place(places.kernels, k.kernel.symbol, places.module);
    if (std::string why = tir::check(k.kernel); !why.empty()) {
      out.add(21, at, fmt::format("kernel @{}: {}", k.kernel.symbol, why));
      continue;
    }
    const auto it = index.computes.find(k.compute);
    if (it == index.computes.end()) {
      out.add(22, at,
              fmt::format("kernel @{}: there is no compute @{}", k.kernel.symbol, k.compute));
      continue;
    }
    const te::Compute& c = it->second->compute;
    if (!te::check(c).empty()) continue;  // reported there
    std::vector<TensorType> outputs;
    for (std::uint32_t o = 0; o < c.outputs.size(); ++o) outputs.push_back(c.output_type(o));
    std::string why = differing_buffers(k.kernel, tir::Scope::input, c.inputs, "input");
    if (why.empty()) why = differing_buffers(k.kernel, tir::Scope::output, outputs, "output");
    if (!why.empty()) out.add(22, at, fmt::format("kernel @{}: {}", k.kernel.symbol, why));
  }
}

}  // namespace

std::string check_plain(const te::Compute& c) {
  for (std::size_t k = 0; k < c.exprs.size(); ++k) {
    const te::Expr& e = c.exprs[k];
    const bool real = e.kind == te::Kind::imm && is_float(e.dtype),
               whole = e.kind == te::Kind::imm && !real;
    const bool plain = (e.kind == te::Kind::scalar || e.op == ScalarOp::add) &&
                       (e.kind == te::Kind::reduce || e.fold == te::Fold::sum) &&
                       (e.kind == te::Kind::axis || e.kind == te::Kind::load || e.n == 0) &&
                       (real || e.f == 0) && (whole || e.i == 0) &&
                       ((e.kind != te::Kind::imm && e.kind != te::Kind::axis) || e.args.empty());
    if (!plain) return fmt::format("expression %e{} sets a field that its kind does not use", k);
  }
  return "";
}

std::string check_schedule(const Schedule& s, const te::Compute& c) {
  if (s.stages.size() != c.stages.size())
    return fmt::format("it has {} rows for {} stages", s.stages.size(), c.stages.size());
  for (std::size_t k = 0; k < s.stages.size(); ++k) {
    const StageSchedule& row = s.stages[k];
    const std::uint32_t t = c.tensor_of_stage(static_cast<std::uint32_t>(k));
    const std::size_t axes = c.stages[k].axes.size() + c.stages[k].reduce.size();
    for (const LoopSpec& l : row.loops) {
      if (l.axis >= axes)
        return fmt::format("a loop of %{} runs over axis {}, but the stage has {}", t, l.axis,
                           axes);
      if (l.step <= 0) return fmt::format("a loop of %{} has step {}", t, l.step);
    }
    if (row.place != Place::worker) {
      if (row.at_stage != 0 || row.at_loop != 0)
        return fmt::format("%{} stands at a loop, but is not placed in worker scratch", t);
    } else if (row.at_stage <= k || row.at_stage >= s.stages.size()) {
      return fmt::format("%{} is computed at stage number {}, which is not a later one of {}", t,
                         row.at_stage, s.stages.size());
    } else if (row.at_loop > s.stages[row.at_stage].loops.size()) {
      return fmt::format("%{} is computed inside {} loops of a stage that has {}", t, row.at_loop,
                         s.stages[row.at_stage].loops.size());
    }
  }
  return "";
}

Status verify(const Module& m, const Places& places) {
  Breaches out;
  verify_symbols(m, places, out);
  const ModuleIndex index = index_of(m, places, out);
  for (const Function& f : m.functions) {
    if (out.full()) break;
    verify_function(m, index, f, out);
  }
  verify_calls(m, index, out);
  verify_computes(m, places, out);
  verify_kernels(m, index, places, out);
  return std::move(out).take();
}

Status verify(const Module& m) { return verify(m, Places{}); }

}  // namespace tenon
