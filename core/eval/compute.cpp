// evaluate(Compute): stage by stage, block by block.
#include "core/eval/compute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "core/eval/program.h"
#include "tenon/diag.h"
#include "tenon/eval.h"

namespace tenon::eval {

namespace {

using te::ExprId;

/// Fewer output elements than this and a longer reduction: the lanes extend over the reduction
/// instead.
constexpr std::int64_t few_outputs = 64;

/// Points of a stage that keep a thread busy for many times what starting it costs.
constexpr double worth_a_thread = 1 << 18;

std::int64_t count_of(const std::vector<te::Axis>& axes) {
  std::int64_t n = 1;
  for (const te::Axis& a : axes) n *= a.extent;
  return n;
}

/// Runs one stage. `out` holds register elements.
class StageRun {
 public:
  StageRun(const te::Compute& c, const te::Stage& s, const Memory& m, std::byte* out)
      : c_(c),
        s_(s),
        m_(m),
        out_(out),
        outputs_(count_of(s.axes)),
        points_(count_of(s.reduce)),
        width_(register_width(s.dtype)) {
    for (ExprId id : te::reachable(c, s.value))
      if (c.exprs[id].kind == te::Kind::reduce) reduce_ = id;
  }

  std::string run(unsigned threads) {
    if (outputs_ == 0) return "";
    const auto blocks =
        (outputs_ + static_cast<std::int64_t>(block) - 1) / static_cast<std::int64_t>(block);
    const std::int64_t most = std::min<std::int64_t>(
        blocks, static_cast<std::int64_t>(static_cast<double>(outputs_) *
                                          static_cast<double>(std::max<std::int64_t>(points_, 1)) /
                                          worth_a_thread));
    const std::int64_t parts = std::clamp<std::int64_t>(most, 1, threads);
    if (parts == 1) return range(0, outputs_);
    std::vector<std::string> failed(static_cast<std::size_t>(parts));
    std::vector<std::jthread> helpers;
    const auto part = [&](std::int64_t k) {  // whole blocks
      const auto at = [&](std::int64_t p) {
        return std::min(outputs_, blocks * p / parts * static_cast<std::int64_t>(block));
      };
      failed[static_cast<std::size_t>(k)] = StageRun(c_, s_, m_, out_).range(at(k), at(k + 1));
    };
    for (std::int64_t k = 1; k < parts; ++k) helpers.emplace_back([&, k] { part(k); });
    part(0);
    helpers.clear();  // joins
    for (std::string& why : failed)
      if (!why.empty()) return std::move(why);
    return "";
  }

 private:
  std::string range(std::int64_t begin, std::int64_t end) {
    const auto lanes = static_cast<std::size_t>(std::min<std::int64_t>(outputs_, block));
    outer_.emplace(c_, s_, s_.value, 0, s_.axes.size(), reduce_, lanes);
    across_ = reduce_ != te::none && outputs_ < few_outputs && points_ > outputs_;
    if (reduce_ != te::none) {
      const auto inner_lanes =
          across_ ? static_cast<std::size_t>(std::min<std::int64_t>(points_, block)) : lanes;
      const std::size_t rank = s_.axes.size();
      inner_.emplace(c_, s_, c_.exprs[reduce_].args[0], across_ ? rank : 0,
                     across_ ? rank + s_.reduce.size() : rank, te::none, inner_lanes,
                     !across_ && c_.exprs[reduce_].fold == te::Fold::sum);
    }
    if (std::string why = error(); !why.empty()) return why;
    for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(lanes))
      one_block(at, static_cast<std::size_t>(
                        std::min<std::int64_t>(end - at, static_cast<std::int64_t>(lanes))));
    return error();
  }

  const std::string& error() const {
    return outer_->error().empty() && inner_ ? inner_->error() : outer_->error();
  }

  void one_block(std::int64_t first, std::size_t count) {
    if (reduce_ != te::none) {
      const te::Expr& e = c_.exprs[reduce_];
      std::byte* acc = outer_->leaf();
      fill_identity(e.fold, e.dtype, acc, count);
      if (points_ > 0 && across_) {
        for (std::size_t j = 0; j < count; ++j)
          fold_across(e, first + static_cast<std::int64_t>(j), acc + j * register_width(e.dtype));
      } else if (points_ > 0) {
        fold_lanes(e, first, count, acc);
      }
    }
    outer_->place(first, count, m_);
    std::memmove(out_ + static_cast<std::size_t>(first) * width_, outer_->result(),
                 count * width_);  // may be in place
  }

  /// acc[j] = fold over all reduction points, for the output elements of the block.
  void fold_lanes(const te::Expr& e, std::int64_t first, std::size_t count, std::byte* acc) {
    const FoldLanes fold = fold_kernel(e.fold, e.dtype);
    const Map multiply_add = multiply_add_kernel(e.dtype);
    std::vector<std::int64_t> at(s_.reduce.size(), 0);
    for (std::size_t k = 0; k < at.size(); ++k) inner_->set(k, 0);
    inner_->place(first, count, m_);
    for (std::size_t moved = 0; moved < at.size();) {
      inner_->run(moved + 1, m_);
      if (inner_->splits_product()) {
        const void* factors[] = {inner_->factor(0), inner_->factor(1)};
        multiply_add(acc, factors, count);
      } else {
        fold(acc, inner_->result(), count);
        if (is_narrow(e.dtype)) narrow(e.dtype, acc, count);
      }
      moved = advance(at);
      for (std::size_t k = moved; k < at.size(); ++k) inner_->set(k, at[k]);
    }
  }

  /// To the next reduction point, row-major; gives the outermost axis that moved, or their number
  /// at the end.
  std::size_t advance(std::vector<std::int64_t>& at) const {
    for (std::size_t k = at.size(); k-- > 0;) {
      if (++at[k] < s_.reduce[k].extent) return k;
      at[k] = 0;
    }
    return at.size();
  }

  /// acc = fold over all reduction points of output element `element`, block by block, in order.
  void fold_across(const te::Expr& e, std::int64_t element, std::byte* acc) {
    const FoldLanes fold = fold_across_kernel(e.fold, e.dtype);
    for (std::size_t k = s_.axes.size(); k-- > 0; element /= s_.axes[k].extent)
      if (s_.axes[k].extent) inner_->set(k, element % s_.axes[k].extent);
    for (std::int64_t at = 0; at < points_; at += static_cast<std::int64_t>(block)) {
      const auto n = static_cast<std::size_t>(
          std::min<std::int64_t>(points_ - at, static_cast<std::int64_t>(block)));
      inner_->place(at, n, m_);
      inner_->run(1, m_);
      if (!is_narrow(e.dtype)) {
        fold(acc, inner_->result(), n);
        continue;
      }
      for (std::size_t j = 0; j < n; ++j) {  // every partial sum is rounded
        fold(acc, inner_->result() + j * register_width(e.dtype), 1);
        narrow(e.dtype, acc, 1);
      }
    }
  }

  const te::Compute& c_;
  const te::Stage& s_;
  const Memory& m_;
  std::byte* out_;
  std::int64_t outputs_, points_;
  std::size_t width_;
  ExprId reduce_ = te::none;
  bool across_ = false;
  std::optional<Program> outer_, inner_;
};

/// The stage after which nobody loads tensor t; -1 for one that no stage loads.
std::vector<std::int64_t> last_uses(const te::Compute& c) {
  std::vector<std::int64_t> last(c.inputs.size() + c.stages.size(), -1);
  for (std::size_t s = 0; s < c.stages.size(); ++s)
    for (ExprId id : te::reachable(c, c.stages[s].value))
      if (c.exprs[id].kind == te::Kind::load) last[c.exprs[id].n] = static_cast<std::int64_t>(s);
  return last;
}

std::uint64_t saturated(std::optional<std::uint64_t> n) { return n.value_or(UINT64_MAX); }

/// Of tensor t as run() holds it.
std::uint64_t register_bytes(const te::Compute& c, std::uint32_t t) {
  const DType type = c.dtype_of(t);
  return saturated(
      checked_mul(saturated(elements(TensorType(type, c.shape_of(t)))), register_width(type)));
}

}  // namespace

std::uint64_t scratch_bytes(const te::Compute& c) {
  std::uint64_t sum = 0;
  for (std::uint32_t t = 0; t < c.inputs.size() + c.stages.size(); ++t) {
    const bool given = t < c.inputs.size() ||
                       std::ranges::count(c.outputs, t - c.inputs.size()) > 0;  // by the caller
    if (given && !is_narrow(c.dtype_of(t))) continue;
    sum = saturated(checked_add(sum, register_bytes(c, t)));
  }
  return sum;
}

std::string run(const te::Compute& c, std::span<const std::byte* const> inputs,
                std::span<std::byte* const> outputs, unsigned threads) {
  const std::size_t n_tensors = c.inputs.size() + c.stages.size();
  Memory memory(n_tensors, nullptr);
  std::vector<std::vector<std::byte>> own(n_tensors);
  auto bytes_for = [&](std::uint32_t t) { return register_bytes(c, t); };
  for (std::uint32_t t = 0; t < c.inputs.size(); ++t) {
    memory[t] = inputs[t];
    if (!is_narrow(c.inputs[t].dtype)) continue;
    own[t].resize(bytes_for(t));
    unpack(c.inputs[t].dtype, inputs[t], own[t].data(), *elements(c.inputs[t]));
    memory[t] = own[t].data();
  }
  const std::vector<std::int64_t> last = last_uses(c);
  for (std::uint32_t s = 0; s < c.stages.size(); ++s) {
    const te::Stage& stage = c.stages[s];
    const std::uint32_t t = c.tensor_of_stage(s);
    auto k = std::find(c.outputs.begin(), c.outputs.end(), s) - c.outputs.begin();
    const bool is_output = k < static_cast<std::ptrdiff_t>(c.outputs.size()),
               narrowed = is_narrow(stage.dtype);
    std::byte* out = is_output ? outputs[static_cast<std::size_t>(k)] : nullptr;
    if (!is_output || narrowed) own[t].resize(bytes_for(t));
    std::byte* registers = own[t].empty() ? out : own[t].data();
    memory[t] = registers;
    if (std::string why = StageRun(c, stage, memory, registers).run(threads); !why.empty())
      return fmt::format("stage `{}`: {}", stage.name, why);
    if (is_output && narrowed)
      pack(stage.dtype, registers, out, *elements(TensorType(stage.dtype, stage.shape())));
    for (std::uint32_t u = 0; u <= t; ++u)
      if (last[u] <= static_cast<std::int64_t>(s) && !own[u].empty())
        std::vector<std::byte>().swap(own[u]);
  }
  return "";
}

}  // namespace tenon::eval

namespace tenon {

std::uint64_t evaluation_work(const te::Compute& c) {
  std::uint64_t sum = 0;
  for (const te::Stage& s : c.stages) {
    std::optional<std::uint64_t> points = 1;
    for (const auto* axes : {&s.axes, &s.reduce})
      for (const te::Axis& a : *axes)
        if (points) points = checked_mul(*points, static_cast<std::uint64_t>(a.extent));
    sum = checked_add(sum, points.value_or(UINT64_MAX)).value_or(UINT64_MAX);
  }
  return sum;
}

void evaluate(const te::Compute& c, std::span<const std::byte* const> inputs,
              std::span<std::byte* const> outputs) {
  if (std::string why = eval::run(c, inputs, outputs, 1); !why.empty()) TENON_BUG(why);
}

}  // namespace tenon
