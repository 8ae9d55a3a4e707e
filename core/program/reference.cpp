#include "core/program/reference.h"

#include <fmt/format.h>

#include <cstring>

#include "core/program/guarded_memory.h"

namespace tenon {
namespace {

class Reference {
 public:
  Reference(const Module& m, const ExecProgram& p) : m_(m), p_(p) {}

  Result<ReferenceRun> run(std::span<const Tensor> inputs) {
    if (Status s = check_inputs(inputs); !s) return std::move(s).take();
    if (Status s = allocate(inputs); !s) return std::move(s).take();
    if (Status s = find_kernels(); !s) return std::move(s).take();
    if (Status s = check(p_.steps); !s) return std::move(s).take();
    steps(p_.steps);
    if (Status s = check_guards(); !s) return std::move(s).take();
    ReferenceRun out{.poisoned = poisoned_};
    for (const ExecIo& io : p_.outputs) {
      const std::byte* from = at(io.place);
      out.outputs.push_back({io.type, {from, from + io.place.bytes}});
    }
    return out;
  }

 private:
  static Diag error(int code, std::string what) { return {.code = code, .what = std::move(what)}; }

  Status check_inputs(std::span<const Tensor> inputs) const {
    if (inputs.size() != p_.inputs.size()) {
      return error(4511, fmt::format("the program takes {} inputs, {} were given", p_.inputs.size(),
                                     inputs.size()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].type == p_.inputs[i].type && inputs[i].bytes.size() == p_.inputs[i].place.bytes)
        continue;
      return error(4511, fmt::format("input `{}` is {}, but {} ({} bytes) was given",
                                     p_.inputs[i].name, to_string(p_.inputs[i].type),
                                     to_string(inputs[i].type), inputs[i].bytes.size()));
    }
    return {};
  }

  Status allocate(std::span<const Tensor> inputs) {
    const auto add = [](std::vector<GuardedMemory>& to, std::uint64_t bytes, std::uint64_t align) {
      auto memory = GuardedMemory::make(bytes, align);
      if (memory) to.push_back(std::move(*memory));
      return memory.has_value();
    };
    bool ok = true;
    for (const ExecPool& pool : p_.pools) ok = ok && add(pools_, pool.bytes, pool.align);
    for (const ExecIo& io : p_.inputs)
      ok = ok && add(inputs_, io.planned ? 0 : io.place.bytes, io.align);
    for (const ExecIo& io : p_.outputs)
      ok = ok && add(outputs_, io.planned ? 0 : io.place.bytes, io.align);
    if (!ok) return error(4513, "there is no memory for the pools");
    for (const ExecConstant& c : p_.constants) {
      const ArgPlace place{ArgPlace::Kind::pool, c.pool, c.offset, c.data->bytes.size()};
      if (!inside(place)) return outside("a constant", place);
      copy(at(place), c.data->bytes.data(), place.bytes);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inside(p_.inputs[i].place)) return outside(p_.inputs[i].name, p_.inputs[i].place);
      copy(at(p_.inputs[i].place), inputs[i].bytes.data(), inputs[i].bytes.size());
    }
    for (const ExecIo& io : p_.outputs) {
      if (!inside(io.place)) return outside(io.name, io.place);
    }
    return {};
  }

  Status find_kernels() {
    for (const ExecKernel& k : p_.kernels) {
      const KernelFunction* f = m_.kernel(k.symbol);
      const ComputeFunction* c = f ? m_.compute(f->compute) : nullptr;
      if (!c)
        return error(4512,
                     fmt::format("kernel `{}` has no compute function in the module", k.symbol));
      const ArgPlace worker{ArgPlace::Kind::pool, k.worker_pool, k.worker_offset, k.worker_bytes};
      if (!inside(worker)) return outside(k.symbol, worker);
      kernels_.push_back({f, c});
    }
    return {};
  }

  Status check(const std::vector<ExecStep>& steps) const {
    for (const ExecStep& s : steps) {
      for (const std::vector<ArgPlace>* places :
           {&s.args, &s.dead, &s.then_dead, &s.else_dead, &s.next_dead}) {
        for (const ArgPlace& a : *places) {
          if (!inside(a)) return outside(s.name, a);
        }
      }
      for (const std::vector<ExecStep>* arm : {&s.then_steps, &s.else_steps}) {
        if (Status bad = check(*arm); !bad) return bad;
      }
    }
    return {};
  }

  const std::vector<GuardedMemory>& memory(ArgPlace::Kind k) const {
    return k == ArgPlace::Kind::pool ? pools_ : k == ArgPlace::Kind::input ? inputs_ : outputs_;
  }
  bool inside(const ArgPlace& a) const {
    const std::vector<GuardedMemory>& all = memory(a.kind);
    if (a.bytes == 0) return true;
    return a.index < all.size() && a.bytes <= all[a.index].size() &&
           a.offset <= all[a.index].size() - a.bytes;
  }
  static Status outside(std::string_view who, const ArgPlace& a) {
    return error(
        4512, fmt::format("`{}`: {} bytes at offset {} do not lie in pool or tensor number {}", who,
                          a.bytes, a.offset, a.index));
  }
  std::byte* at(const ArgPlace& a) const {
    return a.bytes == 0 ? &nothing_ : memory(a.kind)[a.index].data() + a.offset;
  }
  static void copy(std::byte* to, const std::byte* from, std::size_t n) {
    if (n > 0) std::memmove(to, from, n);
  }
  void poison(const ArgPlace& a) const {
    if (a.bytes > 0) std::memset(at(a), static_cast<int>(GuardedMemory::poison), a.bytes);
  }
  void bury(const DeadRanges& dead) {
    for (const ArgPlace& a : dead) {
      poison(a);
      poisoned_ += a.bytes;
    }
  }

  /// Arms nest to at most 64.
  void steps(const std::vector<ExecStep>& list) {
    for (const ExecStep& s : list) {
      switch (s.kind) {
        case ExecStep::Kind::call:
          call(s);
          break;
        case ExecStep::Kind::copy:
          copy(at(s.args[1]), at(s.args[0]), s.args[1].bytes);
          break;
        case ExecStep::Kind::branch: {
          const bool taken = *at(s.args[0]) != std::byte{0};
          bury(taken ? s.then_dead : s.else_dead);
          steps(taken ? s.then_steps : s.else_steps);
          break;
        }
        case ExecStep::Kind::loop:
          if (!loop(s)) continue;
          break;
      }
      bury(s.dead);
    }
  }

  void copy(const ArgPlace& to, const ArgPlace& from) const { copy(at(to), at(from), to.bytes); }

  /// False when its body did not run.
  bool loop(const ExecStep& s) {
    std::int64_t count = 0;
    std::memcpy(&count, at(s.args[0]), sizeof count);
    for (std::size_t j = 2; j < s.args.size(); j += 3) copy(s.args[j + 1], s.args[j]);
    bury(count > 0 ? s.then_dead : s.else_dead);
    for (std::int64_t i = 0; i < count; ++i) {
      if (i > 0) bury(s.next_dead);
      std::memcpy(at(s.args[1]), &i, sizeof i);
      steps(s.then_steps);
      for (std::size_t j = 2; j < s.args.size(); j += 3) copy(s.args[j + 1], s.args[j + 2]);
    }
    return count > 0;
  }

  void call(const ExecStep& s) {
    const ExecKernel& k = p_.kernels[s.kernel];
    const auto [function, compute] = kernels_[s.kernel];
    scribble(s, k);
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    std::vector<std::pair<std::size_t, std::vector<std::byte>>> aside;
    for (std::size_t i = 0; i < k.n_inputs; ++i) in.push_back(at(s.args[i]));
    for (std::size_t j = k.n_inputs; j < k.n_inputs + k.n_outputs; ++j) {
      out.push_back(at(s.args[j]));
      if (takes_place(s, *function, j)) {
        aside.emplace_back(j, std::vector<std::byte>(s.args[j].bytes));
        out.back() = aside.back().second.data();
      } else {
        poison(s.args[j]);  // an operand that wrongly stands here is seen to be gone
      }
    }
    evaluate(compute->compute, in, out);
    for (const auto& [j, bytes] : aside) copy(at(s.args[j]), bytes.data(), bytes.size());
    scribble(s, k);
  }

  /// A declared pair is a promise of the scheduled kernel; the evaluator has its own order, so it
  /// computes aside.
  static bool takes_place(const ExecStep& s, const KernelFunction& f, std::size_t j) {
    return std::any_of(f.kernel.inplace.begin(), f.kernel.inplace.end(), [&](const auto& pair) {
      return pair.second == j && pair.first < s.args.size() && s.args[pair.first] == s.args[j] &&
             s.args[j].bytes > 0;
    });
  }

  void scribble(const ExecStep& s, const ExecKernel& k) const {
    for (std::size_t i = k.n_inputs + k.n_outputs; i < s.args.size(); ++i) poison(s.args[i]);
    poison({ArgPlace::Kind::pool, k.worker_pool, k.worker_offset, k.worker_bytes});
  }

  Status check_guards() const {
    for (const auto* all : {&pools_, &inputs_, &outputs_}) {
      for (std::size_t i = 0; i < all->size(); ++i) {
        if ((*all)[i].intact()) continue;
        return error(4514, fmt::format("something wrote outside {} number {}",
                                       all == &pools_    ? "pool"
                                       : all == &inputs_ ? "input"
                                                         : "output",
                                       i));
      }
    }
    return {};
  }

  const Module& m_;
  const ExecProgram& p_;
  std::vector<GuardedMemory> pools_, inputs_, outputs_;
  std::vector<std::pair<const KernelFunction*, const ComputeFunction*>> kernels_;
  std::uint64_t poisoned_ = 0;
  mutable std::byte nothing_{};  ///< where tensors of 0 bytes are
};

}  // namespace

Result<ReferenceRun> run_reference(const Module& m, const ExecProgram& p,
                                   std::span<const Tensor> inputs) {
  return Reference(m, p).run(inputs);
}

}  // namespace tenon
