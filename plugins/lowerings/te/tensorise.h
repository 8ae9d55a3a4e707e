// Reductions that an instruction takes several steps of at once: the loop kind `tensor`.
#ifndef TENON_PLUGINS_LOWERINGS_TE_TENSORISE_H
#define TENON_PLUGINS_LOWERINGS_TE_TENSORISE_H

#include <cstdint>
#include <optional>

#include "access.h"
#include "tenon/target.h"

namespace tenon::te_lowering {

/// Steps that tir::Kind::dot takes.
inline constexpr std::int64_t tensor_steps = 4;

/// A sum of products i32(x) * i32(y) of loads x of u8 and y of i8, of which reduction axis `axis`,
/// of four elements, lies side by side in both. Lanes may run along axes of which a step moves both
/// by 0 or 4 bytes.
struct ByteProducts {
  Access x, y;
  std::uint32_t axis = 0;
};
std::optional<ByteProducts> byte_products(const te::Compute& c, const te::Stage& s);

/// facts_of(), of groups of four steps where `target` has an instruction for them.
StageFacts facts_for(const te::Compute& c, const te::Stage& s, const TargetFacts& target);

}  // namespace tenon::te_lowering

#endif
