#include "core/storage/timeline.h"

#include <fmt/format.h>

#include "tenon/op.h"

namespace tenon {
namespace {

constexpr std::uint32_t max_depth = 64;

class Numbering {
 public:
  explicit Numbering(const Module& m) : m_(m) {}

  Result<Timeline> run() {
    t_.main = m_.main();
    if (!t_.main) return Diag{.code = 4201, .what = "the module has no function `main`"};
    t_.id_end = t_.main->next_id;
    body(t_.main->body, 0, 0, 0, nullptr);
    if (!errors_.empty()) return std::move(errors_);
    set_successors();
    return std::move(t_);
  }

 private:
  void fail(const Node& n, std::string what, std::string fix) {
    if (errors_.size() < 20) {
      errors_.push_back(
          {.code = 4201, .loc = n.loc, .what = std::move(what), .fix = std::move(fix)});
    }
  }

  /// `loop`: the node whose body this is, if any.
  std::uint32_t body(const Body& b, std::uint32_t parent, std::uint32_t opener, std::uint32_t depth,
                     const Node* loop) {
    const auto index = static_cast<std::uint32_t>(t_.bodies.size());
    t_.bodies.push_back({.body = &b,
                         .parent = parent,
                         .opener = opener,
                         .first = t_.n_steps(),
                         .loop = loop != nullptr});
    for (const Node* n : b.nodes) node(*n, index, depth);
    if (loop) t_.steps[step(*loop, index, t_.steps[opener].name + ".next")].back_edge = true;
    t_.bodies[index].end = t_.n_steps();
    return index;
  }

  void node(const Node& n, std::uint32_t in, std::uint32_t depth) {
    if (n.op == node::call_kernel) return call(n, in);
    if (n.op == node::copy) {
      step(n, in, "copy " + value_name(n.results[0]));
    } else if (n.op == node::branch || n.op == node::loop) {
      const bool loop = n.op == node::loop;
      const std::string name = loop ? "loop" : "if";
      if (depth >= max_depth) return fail(n, "`" + name + "` is nested deeper than 64", "");
      const std::uint32_t s =
          step(n, in, n.results.empty() ? name : name + " " + value_name(n.results[0]));
      const std::uint32_t first = body(n.regions[0], in, s, depth + 1, loop ? &n : nullptr);
      t_.then_body[s] = first;
      if (loop) return;
      const std::uint32_t other = body(n.regions[1], in, s, depth + 1, nullptr);
      t_.else_body[s] = other;
    } else if (n.op != node::constant && n.op != node::view && n.op != node::debug &&
               n.op != node::join) {
      fail(n,
           fmt::format("`{}` is not lowered to a kernel; planning needs `kernels-lowered`",
                       m_.ops()[n.op].name),
           "put the step `lower` before `plan`");
    }
  }

  std::uint32_t step(const Node& n, std::uint32_t in, std::string name) {
    t_.steps.push_back({.node = &n, .body = in, .scratch = t_.id_end, .name = std::move(name)});
    t_.then_body.push_back(0);
    t_.else_body.push_back(0);
    return t_.n_steps() - 1;
  }

  void call(const Node& n, std::uint32_t in) {
    const auto* callee = n.attrs.get<std::string>("callee");
    const KernelFunction* k = callee ? kernel(*callee) : nullptr;
    if (!k)
      return fail(n,
                  fmt::format("call of the kernel `{}`, which the module does not have",
                              callee ? *callee : ""),
                  "");
    const auto inputs = k->kernel.count(tir::Scope::input),
               outputs = k->kernel.count(tir::Scope::output);
    if (inputs != n.operands.size() || outputs != n.results.size()) {
      return fail(
          n,
          fmt::format("kernel `{}` takes {} and gives {} tensors; the call passes {} and takes {}",
                      *callee, inputs, outputs, n.operands.size(), n.results.size()),
          "");
    }
    TimelineStep& s = t_.steps[step(n, in, n.results.empty() ? *callee : value_name(n.results[0]))];
    s.kernel = k;
    t_.id_end += k->kernel.count(tir::Scope::shared) + (k->kernel.worker_bytes > 0 ? 1 : 0);
  }

  const KernelFunction* kernel(const std::string& symbol) {
    if (kernels_.empty()) {
      for (const KernelFunction& k : m_.kernels) kernels_.emplace(k.kernel.symbol, &k);
    }
    const auto it = kernels_.find(symbol);
    return it == kernels_.end() ? nullptr : it->second;
  }

  void set_successors() {
    std::vector<std::uint32_t> exit(t_.bodies.size(), t_.n_steps());
    for (std::size_t b = 1; b < t_.bodies.size(); ++b) {
      const TimelineBody& arm = t_.bodies[b];
      const std::uint32_t after = t_.after(arm.opener);
      exit[b] = after < t_.bodies[arm.parent].end ? after : exit[arm.parent];
    }
    for (std::uint32_t s = 0; s < t_.n_steps(); ++s) {
      TimelineStep& step = t_.steps[s];
      const std::uint32_t after = t_.after(s);
      step.next = step.back_edge                     ? t_.bodies[step.body].first
                  : after < t_.bodies[step.body].end ? after
                                                     : exit[step.body];
    }
  }

  const Module& m_;
  Timeline t_;
  std::unordered_map<std::string_view, const KernelFunction*> kernels_;
  Diags errors_;
};

}  // namespace

std::string value_name(const NodeResult& r) {
  return r.name.empty() ? fmt::format("%{}", r.id) : r.name;
}

std::uint32_t Timeline::arm_body(std::uint32_t s, std::uint32_t k) const {
  return k == 0 ? then_body[s] : else_body[s];
}

std::uint32_t Timeline::after(std::uint32_t s) const {
  const std::uint32_t last = else_body[s] != 0 ? else_body[s] : then_body[s];
  return last != 0 ? bodies[last].end : s + 1;
}

std::uint32_t Timeline::arm_entry(std::uint32_t s, std::uint32_t k) const {
  if (k == 1 && else_body[s] == 0) return steps[s].next;  // a loop that does not run
  const TimelineBody& arm = bodies[arm_body(s, k)];
  return arm.first < arm.end ? arm.first : steps[s].next;
}

Result<Timeline> timeline_of(const Module& m) { return Numbering(m).run(); }

}  // namespace tenon
