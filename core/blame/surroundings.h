// What a step may not change, watched while it runs alone.
#ifndef TENON_CORE_BLAME_SURROUNDINGS_H
#define TENON_CORE_BLAME_SURROUNDINGS_H

#include <optional>
#include <vector>

#include "core/blame/trial.h"

namespace tenon::blame {

/// Lets a step write the blocks of its results and scratch, and nothing else; afterwards these too
/// are protected, and what of them was not given to it must be as it was.
class Surroundings {
 public:
  /// `apart`: all of it protected.
  Surroundings(const Subject& s, const Pieces& apart, const Step& step);
  /// Protects again. The bytes that were changed all the same: Outcome::Kind::outside. `margin`:
  /// what stands behind each block.
  std::optional<Outcome> check(std::byte margin);

 private:
  struct Given {
    std::uint32_t block;
    std::uint64_t lo, hi;
  };
  struct Kept {
    std::uint32_t block;
    std::vector<std::byte> bytes;
  };

  const Kept* kept(std::uint32_t block) const;
  bool given(std::uint32_t block, std::uint64_t byte) const;
  std::optional<Outcome> changed(std::uint32_t block, std::byte margin) const;

  const Pieces& apart_;
  std::vector<Given> given_;
  std::vector<Kept> before_;  ///< of blocks that the step writes in part
};

}  // namespace tenon::blame

#endif
