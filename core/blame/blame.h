// Why does a plan compute something else than no plan? Runs an artefact with every value in storage
// of its own, then as planned, and bisects over what shares.
#ifndef TENON_CORE_BLAME_BLAME_H
#define TENON_CORE_BLAME_BLAME_H

#include <functional>
#include <optional>

#include "core/blame/subject.h"
#include "tenon/eval.h"

namespace tenon::blame {

/// One of those that met.
struct Party {
  std::string value;  ///< as the step that is blamed calls it
  std::string token;  ///< "" where the memory is the caller's
  std::string region;
  std::uint64_t offset = 0, bytes = 0;  ///< within the region, as the program has it
  std::optional<Lifetime> live;         ///< what the request says of the value
};

struct Finding {
  std::string kind;  ///< a word per code, see the table in blame.cpp
  std::uint32_t step = 0;
  std::vector<Party> parties;  ///< who suffers or is misused first
  std::string fact;            ///< what somebody declared, and is not so
  Diag diag;                   ///< code, sentence and remedy
};

struct Report {
  std::uint32_t trials = 0;
  std::optional<Finding> finding;  ///< none: as planned is as apart, bit for bit
};

/// `inputs` in the model's order, of its types. `progress` is told what is being tried. 4520, 8107:
/// it could not be tried.
Result<Report> blame(const Subject& s, const std::vector<Tensor>& inputs,
                     const std::function<void(const std::string&)>& progress);

}  // namespace tenon::blame

#endif
