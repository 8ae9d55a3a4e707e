// Artefacts through the C runtime, with tensors in and out; inputs made by seed. Shared by `run`
// and `compare`.
#ifndef TENON_CORE_CLI_RUNNER_H
#define TENON_CORE_CLI_RUNNER_H

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/c/runtime.h"
#include "tenon/eval.h"

namespace tenon::cli {

struct NamedType {
  std::string name;
  TensorType type;
  bool state = false;  ///< an input that the model keeps from run to run
};

struct StepInfo {
  std::string name, kind, kernel;  ///< kernel: symbol, of a call; else ""
  std::uint64_t work = 0;          ///< scalar operations; 0 unknown
};

/// What a model compiled ahead of time is, and what to do with it: `header` is its model.h, in
/// `folder`. TN8108; nothing where it is the header of something else.
std::optional<Diag> ahead_of_time(std::string_view header, const std::string& folder);

/// A loaded artefact with one context. Failures carry the runtime's own code and text.
class Runner {
 public:
  /// TN8108 for a model compiled ahead of time. TN8107 when pools, inputs and outputs together
  /// exceed the memory of the machine.
  static Result<Runner> open(const std::string& folder, std::uint32_t threads, std::uint32_t flags);
  const std::vector<NamedType>& inputs() const { return inputs_; }
  const std::vector<NamedType>& outputs() const { return outputs_; }
  Status set(const std::vector<Tensor>& inputs);
  Status run();
  /// The constants against their checksums.
  Status verify() const;
  Result<std::vector<Tensor>> results() const;
  std::vector<StepInfo> steps() const;
  /// Nanoseconds of each step of the last run; needs TN_PROFILE.
  std::vector<std::uint64_t> step_times() const;
  std::string program() const { return tn_model_json(model_.get()); }
  const tn_model* model() const { return model_.get(); }
  std::uint32_t threads() const { return tn_context_threads(context_.get()); }

 private:
  std::shared_ptr<tn_model> model_;
  std::shared_ptr<tn_context> context_;
  std::vector<NamedType> inputs_, outputs_;
  std::vector<Tensor> held_;  // planned inputs are consumed by a run, or state: they are set again
};

/// Fills for inputs without data: floats uniform in [-1, 1), integers 0..9, booleans 0 or 1; `fill`
/// overrides: uniform:LO:HI, randint:LO:HI (HI excluded), const:V. TN8103 for a fill that cannot be
/// read, is empty, or has values that `type` has not; TN8107 when the tensor is too large for
/// memory. Same seed, same bytes.
Result<Tensor> filled(const TensorType& type, const std::string& fill, std::uint64_t seed);

inline constexpr const char* input_help =
    "Data of an input: NAME=F.npy, or F.npy where there is one input; may be repeated";
/// --input NAME=F.npy by name; a bare F.npy where the model has one input. TN2151.
Result<std::map<std::string, std::string>> input_files(const std::vector<std::string>& items,
                                                       const std::vector<NamedType>& inputs);

/// One tensor per input: `files` (name -> path of an .npy) first, else fills, else made data; state
/// begins as zeros. TN8104: a name that
/// no input has.
Result<std::vector<Tensor>> make_inputs(const std::vector<NamedType>& inputs,
                                        const std::map<std::string, std::string>& files,
                                        const std::map<std::string, std::string>& fills,
                                        std::uint64_t seed);

}  // namespace tenon::cli

#endif
