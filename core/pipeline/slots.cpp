#include "core/pipeline/slots.h"

#include <algorithm>

namespace tenon {
namespace {

constexpr std::string_view before_lower[] = {"shapes-static", "primitives-only"};
constexpr std::string_view lowered[] = {"kernels-lowered"};
constexpr std::string_view planned[] = {"memory-planned"};

const SlotStep rows[] = {
    {"import", SlotKind::frontend, {}, {}, "a file of another system becomes the module"},
    {"lower", SlotKind::lowering, before_lower, lowered, "primitives become kernels"},
    {"plan", SlotKind::planner, lowered, planned, "every value gets its place in a pool"},
    {"emit", SlotKind::executor, planned, {}, "the program becomes the files of an artefact"},
};

}  // namespace

std::span<const SlotStep> slot_steps() { return rows; }

const SlotStep* slot_step(std::string_view name) {
  const auto it = std::ranges::find(rows, name, &SlotStep::name);
  return it == std::end(rows) ? nullptr : &*it;
}

}  // namespace tenon
