// One instance of a model: its pools, what is bound to it, its workers.
#ifndef TENON_SDK_RUNTIME_CONTEXT_H
#define TENON_SDK_RUNTIME_CONTEXT_H

#include <memory>
#include <vector>

#include "model.h"
#include "threads.h"

namespace tenon::runtime {

struct TensorView {
  tn_dtype dtype;
  std::uint32_t rank;
  const std::int64_t* dims;
};

inline constexpr unsigned max_threads = 256;

class Context {
 public:
  /// `workers`: null, or the caller's; else `threads` of the context's own.
  Context(std::shared_ptr<const Model> model, unsigned threads, std::uint32_t flags,
          const tn_workers* workers);

  void set_input(std::uint32_t i, const TensorView& t, const void* data);
  void bind_input(std::uint32_t i, const TensorView& t, const void* data);
  void* input_memory(std::uint32_t i);
  void bind_output(std::uint32_t i, const TensorView& t, void* data);
  const void* output(std::uint32_t i);
  void run();

  unsigned threads() const { return workers_.size(); }
  const std::vector<std::uint64_t>& times() const;

 private:
  struct Slot {  // of an input or output that the caller owns
    Region own;
    std::byte* at = nullptr;  // bound, own, or in a pool
    bool bound = false, given = false;
  };

  const Tensor& input_at(std::uint32_t i) const;
  const Tensor& output_at(std::uint32_t i) const;
  std::byte* own_memory(Slot& s, const Tensor& t);
  std::byte* address(const Place& p) const;
  void resolve();
  void prepare_pools();
  void check_inputs() const;
  void check_overlap() const;
  void steps();
  void call(std::size_t step);
  void check_slack(std::size_t step) const;

  std::shared_ptr<const Model> model_;
  const Program& p_;
  std::uint32_t flags_;
  std::vector<Region> pools_;    // data pools; constants stand in the model
  std::vector<Region> scratch_;  // one per worker pool and worker: pool * workers + worker
  std::vector<Slot> inputs_, outputs_;
  std::vector<std::size_t> first_arg_;  // per step, into args_
  std::vector<void*> args_;
  std::vector<std::uint64_t> times_;
  bool stale_ = true;  // args_ have to be resolved again
  Workers workers_;
};

}  // namespace tenon::runtime

#endif
