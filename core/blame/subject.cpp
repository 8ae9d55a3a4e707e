#include "core/blame/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace tenon::blame {
namespace {

template <class Info, class Get>
Info info(const tn_model* m, std::uint32_t i, Get get) {
  Info out{};
  out.struct_size = sizeof out;
  get(m, i, &out);
  return out;
}

class Reader {
 public:
  Reader(const tn_model* m, const StorageRequest& r, const StoragePlan& p) {
    out_.model = m;
    out_.request = &r;
    out_.plan = &p;
  }

  Result<Subject> run() {
    regions();
    tokens();
    io(tn_model_inputs(out_.model), tn_model_input, Block::Kind::input, n_pools_, out_.inputs);
    io(tn_model_outputs(out_.model), tn_model_output, Block::Kind::output,
       n_pools_ + tn_model_inputs(out_.model), out_.outputs);
    for (std::uint32_t i = 0; i < out_.inputs.size(); ++i)
      if (info<tn_tensor_info>(out_.model, i, tn_model_input).state != 0)
        out_.outputs.push_back(out_.inputs[i]);
    steps(0, tn_model_steps(out_.model));
    if (!errors_.empty()) return std::move(errors_);
    return std::move(out_);
  }

 private:
  void fail(std::string what) {
    errors_.push_back({.code = 4520,
                       .what = std::move(what),
                       .fix = "compile the model again, with this version of tenon"});
  }

  void regions() {
    n_pools_ = tn_model_pools(out_.model);
    for (std::uint32_t i = 0; i < n_pools_; ++i) {
      const auto p = info<tn_pool_info>(out_.model, i, tn_model_pool);
      out_.regions.push_back({fmt::format("pool {}", p.id), p.bytes});
    }
    const auto add = [&](std::uint32_t n, auto get, const char* what) {
      for (std::uint32_t i = 0; i < n; ++i) {
        const auto t = info<tn_tensor_info>(out_.model, i, get);
        out_.regions.push_back(
            {fmt::format("the caller's {} `{}`", what, t.name), t.planned ? 0 : t.bytes});
      }
    };
    add(tn_model_inputs(out_.model), tn_model_input, "input");
    add(tn_model_outputs(out_.model), tn_model_output, "output");
  }

  void tokens() {
    const auto& tokens = out_.request->tokens;
    for (std::uint32_t t = 0; t < tokens.size(); ++t) {
      const auto& members = tokens[t].members;
      out_.blocks.push_back({Block::Kind::token, t, tokens[t].name, tokens[t].size, tokens[t].align,
                             !members.empty() && members[0].role == Role::constant});
      for (std::uint32_t m = 0; m < members.size(); ++m) where_[members[m].id] = {t, m};
    }
  }

  template <class Get>
  void io(std::uint32_t n, Get get, Block::Kind kind, std::uint32_t first_region,
          std::vector<Arg>& list) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto t = info<tn_tensor_info>(out_.model, i, get);
      if (t.bytes == 0) {
        list.emplace_back();
      } else if (t.planned) {
        list.push_back(planned(t, kind == Block::Kind::input ? 0 : last_step()));
      } else {
        list.push_back({.block = static_cast<std::uint32_t>(out_.blocks.size()),
                        .region = first_region + i,
                        .bytes = t.bytes});
        out_.blocks.push_back({kind, i, t.name, t.bytes, t.align, false});
      }
    }
  }
  std::uint32_t last_step() const {
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, out_.request->steps.size()) - 1);
  }

  /// A planned input or output: the value that stands there when the caller writes or reads it.
  Arg planned(const tn_tensor_info& t, std::uint32_t when) {
    Arg a{.region = t.pool, .offset = t.offset, .bytes = t.bytes};
    for (std::uint32_t b = 0; b < out_.request->tokens.size(); ++b) {
      const StorageToken& token = out_.request->tokens[b];
      const Slot slot = out_.plan->slots[b];
      if (slot.pool != t.pool) continue;
      for (std::uint32_t m = 0; m < token.members.size(); ++m) {
        const TokenMember& x = token.members[m];
        if (slot.offset + x.offset != t.offset || x.size != t.bytes || when < x.live.first ||
            when >= x.live.end)
          continue;
        a.block = b;
        a.in_block = x.offset;
        a.member = m;
        return a;
      }
    }
    fail(
        fmt::format("'{}' stands at offset {} of pool {}, where the request has no value of its "
                    "{} bytes in step {}",
                    t.name, t.offset, t.pool, t.bytes, when));
    return a;
  }

  /// Bodies nest to at most 64.
  void steps(std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t s = first; s < end && errors_.empty();) {
      const auto i = info<tn_step_info>(out_.model, s, tn_model_step);
      Step step{.name = i.name, .kernel = i.kernel, .args = {}, .number = s};
      for (std::uint32_t k = 0; k < i.n_args && errors_.empty(); ++k)
        step.args.push_back(arg(s, k));
      out_.by_number.push_back(static_cast<std::uint32_t>(out_.steps.size()));
      if (std::string_view(i.kind) == "loop" && errors_.empty()) {
        loop(std::move(step), i.past);
        s = i.past;
      } else {
        out_.steps.push_back(std::move(step));
        ++s;
      }
    }
  }

  void loop(Step entry, std::uint32_t past) {
    Step turn = entry;
    turn.turn = true;
    loop_reads(entry, 2);
    loop_reads(turn, 4);
    turn.args[1].read = true;
    const std::uint32_t number = entry.number;
    out_.steps.push_back(std::move(entry));
    steps(number + 1, past);
    out_.steps[out_.by_number[number]].last = static_cast<std::uint32_t>(out_.steps.size());
    out_.steps.push_back(std::move(turn));
  }

  /// Of each carried value, a loop reads what it is at first (from argument 2 on) when it is
  /// entered, what the body made of it (from 4 on) when it turns.
  static void loop_reads(Step& step, std::uint32_t first) {
    for (std::uint32_t k = 2; k < step.args.size(); ++k) step.args[k].read = k % 3 == first % 3;
  }

  Arg arg(std::uint32_t s, std::uint32_t k) {
    tn_arg_info i{};
    i.struct_size = sizeof i;
    tn_model_step_arg(out_.model, s, k, &i);
    Arg a{.region = i.index,
          .offset = i.offset,
          .bytes = i.bytes,
          .read = i.written == 0,
          .written = i.written != 0};
    if (i.base == TN_IN_INPUT) a.region += n_pools_;
    if (i.base == TN_IN_OUTPUT) a.region += n_pools_ + tn_model_inputs(out_.model);
    if (i.bytes == 0) return a;
    if (const auto it = where_.find(i.value); it != where_.end()) {
      const TokenMember& m = out_.request->tokens[it->second.first].members[it->second.second];
      a.block = it->second.first;
      a.member = it->second.second;
      a.in_block = m.offset;
      a.scratch = m.role == Role::scratch || m.role == Role::worker;
      if (i.bytes > m.size)
        fail(
            fmt::format("step {} uses {} bytes of `{}`, which has {}", s, i.bytes, m.name, m.size));
    } else if (a.region >= n_pools_ && i.value != UINT32_MAX) {
      a.block = of_the_caller(a.region);
      a.in_block = i.offset;
    } else {
      fail(fmt::format("argument {} of step {} is value {}, which the request does not have", k, s,
                       i.value == UINT32_MAX ? "?" : std::to_string(i.value)));
    }
    return a;
  }

  std::uint32_t of_the_caller(std::uint32_t region) const {
    const auto& list = region - n_pools_ < out_.inputs.size() ? out_.inputs : out_.outputs;
    const auto it = std::ranges::find(list, region, &Arg::region);
    return it->block;
  }

  Subject out_;
  std::uint32_t n_pools_ = 0;
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>
      where_;  ///< by value id: token and member
  Diags errors_;
};

}  // namespace

std::uint32_t Subject::after(std::uint32_t step, std::uint32_t next) const {
  if (next >= by_number.size()) return static_cast<std::uint32_t>(steps.size());
  const bool back = next <= steps[step].number;
  return back ? steps[by_number[next]].last : by_number[next];
}

const StorageToken* Subject::token(std::uint32_t block) const {
  return block < blocks.size() && blocks[block].kind == Block::Kind::token
             ? &request->tokens[blocks[block].index]
             : nullptr;
}

const std::string& Subject::name(const Arg& a) const {
  const StorageToken* t = token(a.block);
  return t && a.member != none ? t->members[a.member].name : blocks[a.block].name;
}

Result<Subject> subject_of(const tn_model* model, const StorageRequest& request,
                           const StoragePlan& plan) {
  return Reader(model, request, plan).run();
}

}  // namespace tenon::blame
