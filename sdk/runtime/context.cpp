#include "context.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>

#include "error.h"
#include "single_step.h"

namespace tenon::runtime {
namespace {

constexpr std::byte poison{0xff}, canary{0xa5};

std::string shape_text(tn_dtype t, std::uint32_t rank, const std::int64_t* dims) {
  std::string out(dtype_name(t));
  out += "[";
  for (std::uint32_t d = 0; d < rank; ++d) out += (d ? ", " : "") + std::to_string(dims[d]);
  return out + "]";
}

void check_type(const Tensor& t, const TensorView& v, const std::string& what) {
  if (v.rank > 0 && !v.dims) throw Error(TN_RT_POINTER, what + " '" + t.name + "': dims is null");
  const bool same_dims =
      v.rank == t.dims.size() && std::equal(t.dims.begin(), t.dims.end(), v.dims);
  if (v.dtype == t.dtype && same_dims) return;
  const char* culprit = v.dtype != t.dtype ? "dtype" : v.rank != t.dims.size() ? "rank" : "shape";
  throw Error(TN_RT_TENSOR,
              what + " '" + t.name + "' takes " +
                  shape_text(t.dtype, static_cast<std::uint32_t>(t.dims.size()), t.dims.data()) +
                  ", got " + shape_text(v.dtype, std::min(v.rank, 16u), v.dims) + ": another " +
                  culprit);
}

void check_pointer(const Tensor& t, const void* data, bool aligned, const std::string& what) {
  if (!data && t.bytes > 0)
    throw Error(TN_RT_POINTER, what + " '" + t.name + "': the memory is null");
  if (aligned && reinterpret_cast<std::uintptr_t>(data) % t.align != 0)
    throw Error(TN_RT_POINTER, what + " '" + t.name + "': the memory is not a multiple of " +
                                   std::to_string(t.align) + " bytes");
}

}  // namespace

Context::Context(std::shared_ptr<const Model> model, unsigned threads, std::uint32_t flags,
                 const tn_workers* workers)
    : model_(std::move(model)),
      p_(model_->program),
      flags_(flags),
      inputs_(p_.inputs.size()),
      outputs_(p_.outputs.size()),
      workers_(workers ? Workers(*workers) : Workers(threads)) {
  const bool guard = flags & TN_GUARD;
  for (const Pool& pool : p_.pools) {
    pools_.push_back(pool.kind == PoolKind::data
                         ? Region::allocate(pool.bytes, pool.align, guard, "pool '" + pool.id + "'")
                         : Region());
    if (pools_.back().slack() > 0)
      std::memset(pools_.back().data() + pool.bytes, static_cast<int>(canary),
                  pools_.back().slack());
    for (unsigned w = 0; w < workers_.size(); ++w)
      scratch_.push_back(
          pool.kind == PoolKind::worker
              ? Region::allocate(pool.bytes, pool.align, guard, "worker scratch '" + pool.id + "'")
              : Region());
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (p_.inputs[i].planned) inputs_[i].at = address(p_.inputs[i].place);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (p_.outputs[i].planned) outputs_[i].at = address(p_.outputs[i].place);
  std::size_t n = 0;
  for (const Step& s : p_.steps) {
    first_arg_.push_back(n);
    n += s.args.size();
  }
  args_.resize(n);
  if (flags & TN_PROFILE) times_.resize(model_->shown.size());
  prepare_pools();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!p_.inputs[i].state) continue;
    if (p_.inputs[i].bytes > 0) std::memset(inputs_[i].at, 0, p_.inputs[i].bytes);
    inputs_[i].given = true;
  }
}

/// Poison, then the constants of pools that can be written.
void Context::prepare_pools() {
  if (flags_ & TN_POISON)
    for (const Region& r : pools_)
      if (r.size() > 0) std::memset(r.data(), static_cast<int>(poison), r.size());
  for (const ImageRange& c : p_.constants)
    if (p_.pools[c.pool].kind == PoolKind::data && c.bytes > 0)
      std::memcpy(pools_[c.pool].data() + c.offset, model_->images[c.pool].data() + c.offset,
                  c.bytes);
}

const Tensor& Context::input_at(std::uint32_t i) const {
  if (i < p_.inputs.size()) return p_.inputs[i];
  throw Error(TN_RT_NAME, "no input " + std::to_string(i) + "; the model has " +
                              std::to_string(p_.inputs.size()));
}

const Tensor& Context::output_at(std::uint32_t i) const {
  if (i < p_.outputs.size()) return p_.outputs[i];
  throw Error(TN_RT_NAME, "no output " + std::to_string(i) + "; the model has " +
                              std::to_string(p_.outputs.size()));
}

std::byte* Context::own_memory(Slot& s, const Tensor& t) {
  if (!s.own.data())
    s.own = Region::allocate(t.bytes, t.align, flags_ & TN_GUARD, "'" + t.name + "'");
  return s.own.data();
}

void* Context::input_memory(std::uint32_t i) {
  const Tensor& t = input_at(i);
  Slot& s = inputs_[i];
  if (!t.planned && (s.bound || !s.at)) {
    s.at = own_memory(s, t);
    s.bound = false;
    stale_ = true;
  }
  s.given = true;
  return s.at;
}

void Context::set_input(std::uint32_t i, const TensorView& v, const void* data) {
  const Tensor& t = input_at(i);
  check_type(t, v, "input");
  check_pointer(t, data, false, "input");
  void* to = input_memory(i);
  if (t.bytes > 0) std::memcpy(to, data, t.bytes);
}

void Context::bind_input(std::uint32_t i, const TensorView& v, const void* data) {
  const Tensor& t = input_at(i);
  check_type(t, v, "input");
  check_pointer(t, data, true, "input");
  if (t.planned)
    throw Error(TN_RT_PLANNED, "input '" + t.name + "' stands in pool '" +
                                   p_.pools[t.place.index].id +
                                   "': write to tn_input_memory instead");
  Slot& s = inputs_[i];
  s.at = const_cast<std::byte*>(static_cast<const std::byte*>(
      data));  // kernels only read it: checked when the program was loaded
  s.bound = s.given = stale_ = true;
}

void Context::bind_output(std::uint32_t i, const TensorView& v, void* data) {
  const Tensor& t = output_at(i);
  if (t.planned)
    throw Error(TN_RT_PLANNED, "output '" + t.name + "' stands in pool '" +
                                   p_.pools[t.place.index].id + "': read it with tn_output");
  Slot& s = outputs_[i];
  if (data) {
    check_type(t, v, "output");
    check_pointer(t, data, true, "output");
  }
  s.at = static_cast<std::byte*>(data);
  s.bound = data != nullptr;
  stale_ = true;
}

const void* Context::output(std::uint32_t i) {
  const Tensor& t = output_at(i);
  Slot& s = outputs_[i];
  if (!s.at) {
    s.at = own_memory(s, t);
    stale_ = true;
  }
  return s.at;
}

const std::vector<std::uint64_t>& Context::times() const {
  if (!(flags_ & TN_PROFILE))
    throw Error(TN_RT_ARGUMENT, "the context was made without TN_PROFILE");
  return times_;
}

std::byte* Context::address(const Place& p) const {
  switch (p.base) {
    case Base::input:
      return inputs_[p.index].at + p.offset;
    case Base::output:
      return outputs_[p.index].at + p.offset;
    case Base::pool:
      break;
  }
  const Region& r =
      p_.pools[p.index].kind == PoolKind::constants ? model_->images[p.index] : pools_[p.index];
  return r.data() + p.offset;
}

void Context::resolve() {
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) output(i);
  if (!stale_) return;
  check_overlap();
  for (std::size_t s = 0; s < p_.steps.size(); ++s)
    for (std::size_t a = 0; a < p_.steps[s].args.size(); ++a)
      args_[first_arg_[s] + a] = address(p_.steps[s].args[a]);
  stale_ = false;
}

void Context::check_inputs() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (!inputs_[i].given)
      throw Error(TN_RT_NOT_SET, "input '" + p_.inputs[i].name + "' was not given" +
                                     (p_.inputs[i].planned ? "; it is consumed by each run" : ""));
}

/// A bound output overlaps nothing else that is bound; inputs may overlap each other.
void Context::check_overlap() const {
  struct Span {
    std::uintptr_t begin, end;
    bool output;
    const std::string* name;
  };
  std::vector<Span> all;
  const auto add = [&](const std::vector<Slot>& slots, const std::vector<Tensor>& tensors,
                       bool output) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto at = reinterpret_cast<std::uintptr_t>(slots[i].at);
      if (slots[i].bound && tensors[i].bytes > 0)
        all.push_back({at, at + tensors[i].bytes, output, &tensors[i].name});
    }
  };
  add(inputs_, p_.inputs, false);
  add(outputs_, p_.outputs, true);
  std::sort(all.begin(), all.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  // The span that reaches furthest so far, and the output that does.
  const Span *furthest = nullptr, *furthest_output = nullptr;
  for (const Span& s : all) {
    const Span* hit = s.output ? furthest : furthest_output;
    if (hit && s.begin < hit->end)
      throw Error(TN_RT_POINTER,
                  "the memory bound to '" + *s.name + "' overlaps that of '" + *hit->name + "'");
    if (!furthest || s.end > furthest->end) furthest = &s;
    if (s.output && (!furthest_output || s.end > furthest_output->end)) furthest_output = &s;
  }
}

void Context::run() {
  check_inputs();
  resolve();
  std::vector<std::pair<std::size_t, std::vector<std::byte>>> kept;
  if (flags_ & TN_POISON) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (p_.inputs[i].planned)
        kept.emplace_back(
            i, std::vector<std::byte>(inputs_[i].at, inputs_[i].at + p_.inputs[i].bytes));
    prepare_pools();
    for (const auto& [i, bytes] : kept)
      if (!bytes.empty()) std::memcpy(inputs_[i].at, bytes.data(), bytes.size());
  }
  std::fill(times_.begin(), times_.end(), 0);
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (p_.inputs[i].planned && !p_.inputs[i].state) inputs_[i].given = false;
  struct Awake {
    explicit Awake(Workers& w) : workers(w) { workers.begin(); }
    ~Awake() { workers.end(); }
    Workers& workers;
  } awake(workers_);
  steps();
}

void Context::steps() {
  using Clock = std::chrono::steady_clock;
  for (std::size_t s = 0; s < p_.steps.size();) {
    const Step& step = p_.steps[s];
    if (step.kind == StepKind::jump) {
      s = step.target;
      continue;
    }
    const bool timed = !times_.empty();
    const auto start = timed ? Clock::now() : Clock::time_point();
    std::size_t next = s + 1;
    void* const* args = args_.data() + first_arg_[s];
    if (step.kind == StepKind::call)
      call(s);
    else if (step.kind == StepKind::copy)
      std::memmove(args[1], args[0], step.args[0].bytes);
    else if (step.kind == StepKind::loop)
      next = enter_loop(step, args) ? s + 1 : step.target;
    else if (step.kind == StepKind::turn)
      next = turn_loop(step, args) ? step.target : s + 1;
    else if (*static_cast<const std::byte*>(args[0]) == std::byte{0})
      next = step.target;
    if (timed) {
      const auto& shown = model_->shown;  // a turn counts for nobody: it copies little
      const auto at = std::lower_bound(shown.begin(), shown.end(), s);
      if (at != shown.end() && *at == s)
        times_[static_cast<std::size_t>(at - shown.begin())] += static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
    }
    if (flags_ & TN_GUARD) check_slack(s);
    s = next;
  }
}

namespace {

/// Parts per worker where workers take them as they become free.
constexpr std::int64_t parts_per_worker = 8;

struct Dispatch {
  KernelFn fn;
  void* const* args;
  const std::byte* const* scratch;
  std::int64_t extent, parts;
  std::int32_t* codes;
  std::atomic<std::int64_t> next{0};  // part that nobody has taken
};

/// Part `p` of the range, by worker `w`: parts differ by at most one.
void run_part(Dispatch& d, std::int64_t p, std::uint32_t w) {
  const std::int64_t each = d.extent / d.parts, extra = d.extent % d.parts;
  const std::int64_t begin = each * p + std::min(p, extra);
  const std::int32_t code = d.fn(d.args, nullptr, const_cast<std::byte*>(d.scratch[w]), begin,
                                 begin + each + (p < extra ? 1 : 0));
  if (d.codes[w] == 0) d.codes[w] = code;
}
void run_own(void* state, std::uint32_t w) { run_part(*static_cast<Dispatch*>(state), w, w); }
void run_next(void* state, std::uint32_t w) {
  auto& d = *static_cast<Dispatch*>(state);
  for (std::int64_t p = 0; (p = d.next.fetch_add(1, std::memory_order_relaxed)) < d.parts;)
    run_part(d, p, w);
}

}  // namespace

void Context::call(std::size_t s) {
  const Step& step = p_.steps[s];
  const Kernel& k = p_.kernels[step.kernel];
  if (k.extent == 0) return;
  const std::int64_t size = workers_.size(), worthwhile = k.extent / k.grain;
  const bool dynamic = flags_ & TN_DYNAMIC;
  const auto workers = static_cast<unsigned>(std::clamp<std::int64_t>(worthwhile, 1, size));
  const std::int64_t parts =
      dynamic && workers > 1 ? std::min(worthwhile, size * parts_per_worker) : workers;
  // Set as far as they are used: clearing all of them would take as long as a small kernel.
  std::array<const std::byte*, max_threads> scratch;
  std::array<std::int32_t, max_threads> codes;
  for (unsigned w = 0; w < workers; ++w) {
    codes[w] = 0;
    scratch[w] = k.worker_bytes == 0
                     ? nullptr
                     : scratch_[k.worker_pool * workers_.size() + w].data() + k.worker_offset;
  }
  Dispatch d{model_->kernels[step.kernel],
             args_.data() + first_arg_[s],
             scratch.data(),
             k.extent,
             parts,
             codes.data()};
  if (workers == 1)
    run_part(d, 0, 0);
  else
    workers_.run(workers, dynamic ? run_next : run_own, &d);
  for (unsigned w = 0; w < workers; ++w)
    if (codes[w] != 0) throw_kernel_failure(step, k, codes[w]);
}

void Context::check_slack(std::size_t s) const {
  const auto whole = [&](const Region& r, const Pool& pool) {
    const std::byte* end = r.data() + r.size();
    for (std::uint64_t i = 0; i < r.slack(); ++i)
      if (end[i] != canary)
        throw Error(TN_RT_OVERRUN, "step '" + p_.steps[s].name + "' wrote past the " +
                                       std::to_string(pool.bytes) + " bytes of pool '" + pool.id +
                                       "'");
  };
  for (std::size_t i = 0; i < pools_.size(); ++i) whole(pools_[i], p_.pools[i]);
}

}  // namespace tenon::runtime
