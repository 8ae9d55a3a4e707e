// From `state:` to numbers of inputs and outputs.
#include <fmt/format.h>

#include "core/storage/timeline.h"
#include "tenon/options.h"

namespace tenon {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

class Binder {
 public:
  explicit Binder(const Function& main) {
    for (std::uint32_t i = 0; i < main.n_params(); ++i) {
      inputs_.push_back(value_name(main.body.entry->results[i]));
      types_in_.push_back(main.param(i).type());
    }
    for (std::uint32_t j = 0; j < main.body.results.size(); ++j) {
      const Value v = main.body.results[j];
      const bool named = j < main.result_names.size() && !main.result_names[j].empty();
      outputs_.push_back(named ? main.result_names[j] : value_name(v.node->results[v.index]));
      types_out_.push_back(v.type());
    }
  }

  Result<IoBinding> run(const MemoryConfig& config) {
    IoBinding io{.planned = config.io_planned};
    for (const StatePair& s : config.state) {
      const std::uint32_t in = find(inputs_, s.input, "input", s.loc);
      const std::uint32_t out = find(outputs_, s.output, "output", s.loc);
      if (in == none || out == none) continue;
      if (types_in_[in] != types_out_[out]) {
        fail(s.loc,
             fmt::format("state: input `{}` is {}, output `{}` is {}", s.input,
                         to_string(types_in_[in]), s.output, to_string(types_out_[out])),
             "the storage that they share has one type");
      }
      for (const auto& [i, j] : io.state) {
        if (i == in || j == out)
          fail(s.loc,
               fmt::format("state: {} `{}` stands in two pairs", i == in ? "input" : "output",
                           i == in ? s.input : s.output),
               "keep one of them");
      }
      io.state.emplace_back(in, out);
    }
    if (!errors_.empty()) return std::move(errors_);
    return io;
  }

 private:
  std::uint32_t find(const std::vector<std::string>& names, const std::string& name,
                     std::string_view kind, const Loc& loc) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it != names.end()) return static_cast<std::uint32_t>(it - names.begin());
    const std::string near = did_you_mean(name, names);
    fail(loc, fmt::format("state: the model has no {} `{}`", kind, name),
         near.empty() ? fmt::format("its {}s: {}", kind, fmt::join(names, ", "))
                      : fmt::format("did you mean `{}`?", near));
    return none;
  }

  void fail(const Loc& loc, std::string what, std::string fix) {
    errors_.push_back({.code = 4209, .loc = loc, .what = std::move(what), .fix = std::move(fix)});
  }

  std::vector<std::string> inputs_, outputs_;
  std::vector<TensorType> types_in_, types_out_;
  Diags errors_;
};

}  // namespace

Result<IoBinding> io_binding(const Function& main, const MemoryConfig& config) {
  return Binder(main).run(config);
}

}  // namespace tenon
