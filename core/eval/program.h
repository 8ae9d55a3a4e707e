// A scalar expression as straight-line instructions over a block of lanes.
//
// Axes of the stage are of two sorts: lane axes, over which the block extends, and uniform axes,
// which have one value for the whole block. An instruction has a level: 0 when it depends on lane
// axes alone, else 1 + the place of the innermost uniform axis that it needs; it runs again only
// when an axis of its level or further out has moved.
#ifndef TENON_CORE_EVAL_PROGRAM_H
#define TENON_CORE_EVAL_PROGRAM_H

#include <memory>
#include <string>
#include <vector>

#include "core/eval/kernels.h"
#include "core/eval/lanes.h"
#include "tenon/te.h"

namespace tenon::eval {

/// Register elements of the tensors of a compute, by tensor number.
using Memory = std::vector<const std::byte*>;

inline constexpr std::size_t block = 1024;

class Program {
 public:
  /// Axes [lane_begin, lane_end) are lane axes, the others uniform in order. `leaf`, if any, is a
  /// register that the caller fills (see leaf()). With `split`, a root that is a product (f32, f64)
  /// is left unmultiplied: see factor().
  Program(const te::Compute& c, const te::Stage& s, te::ExprId root, std::size_t lane_begin,
          std::size_t lane_end, te::ExprId leaf, std::size_t max_lanes, bool split = false);

  /// Moves to the lanes [first, first + count) and runs level 0.
  void place(std::int64_t first, std::size_t count, const Memory& m);
  /// Sets uniform axis k (place, not axis number) and runs nothing.
  void set(std::size_t k, std::int64_t index) { uniform_[k] = index; }
  /// Runs the instructions of level >= `level`.
  void run(std::size_t level, const Memory& m);
  std::size_t n_uniform() const { return uniform_.size(); }

  const std::byte* result() const { return regs_[root_].data; }
  /// Whether the root was split; then there are two factors and no result.
  bool splits_product() const { return product_; }
  const std::byte* factor(std::size_t k) const { return regs_[factor_[k]].data; }
  std::byte* leaf() { return regs_[leaf_].own.get(); }

  /// What went wrong, or empty.
  const std::string& error() const { return error_; }

 private:
  enum class What : std::uint8_t { axis, uniform_axis, load, guarded_load, map };
  struct Reg {
    std::unique_ptr<std::byte[]> own;
    const std::byte* data = nullptr;  // `own`, or a place in a tensor
    DType dtype = DType::f32;
  };
  struct Step {
    What what = What::map;
    std::uint32_t level = 0;
    std::uint32_t dst = 0;
    std::vector<std::uint32_t> args;  // registers; guarded load: condition, other, then indices
    Map map = nullptr;
    bool narrow = false;
    std::uint32_t n = 0;  // tensor, or uniform axis
    std::size_t width = 0;
    Shape shape;  // of the tensor
    // Of a load with an element number that is a sum of a part over uniform axes and a part over
    // lanes:
    bool summed = false;
    std::int64_t constant = 0;
    std::vector<std::int64_t> uniform;                          // coefficient per uniform axis
    LaneMap lanes;                                              // the affine part over lane axes
    std::vector<std::pair<std::uint32_t, std::int64_t>> terms;  // (register, factor): the rest
    std::vector<std::int64_t> offsets;                          // lanes and terms, when `placed`
    std::int64_t lowest = 0, highest = 0;                       // of them
    bool placed = false;
  };
  struct Compiler;

  void execute(Step& s, const Memory& m);
  void load_summed(Step& s, const Memory& m);
  void load_indexed(Step& s, const Memory& m);
  void place_offsets(Step& s);
  void out_of_bounds(const Step& s, std::int64_t at, std::int64_t extent);
  std::int64_t base(const Step& s) const;

  std::vector<Step> steps_;  // by level
  std::vector<Reg> regs_;
  std::vector<std::int64_t> uniform_;
  std::size_t count_ = 0;
  std::uint32_t root_ = 0, leaf_ = 0, factor_[2] = {0, 0};
  bool product_ = false;
  std::string error_;
};

}  // namespace tenon::eval

#endif
