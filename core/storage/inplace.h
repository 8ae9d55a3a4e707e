// In-place pairs: which result of a kernel may take the place of which operand.
#ifndef TENON_CORE_STORAGE_INPLACE_H
#define TENON_CORE_STORAGE_INPLACE_H

#include <vector>

#include "core/storage/timeline.h"
#include "tenon/storage.h"

namespace tenon {

/// Adds an `inplace` relation for each pair that the kernel declares and where it is safe: the
/// operand's bytes die in this step, seen through every view of them; they are neither constant nor
/// pinned nor the caller's, nor needed after the run
/// (`lasting`, by value id of the owner: results and kept values are live to the end, which is no
/// death); no other operand of the call reads them, unless the pair is declared for that one too.
/// Views of the result then hold nothing before the step is done: their lifetimes start one step
/// later. `index_of`: by value id, index into values or UINT32_MAX.
void add_inplace_relations(const Timeline& t, const std::vector<ValueHome>& homes,
                           const std::vector<std::uint32_t>& index_of,
                           const std::vector<bool>& lasting, StorageValues& values);

}  // namespace tenon

#endif
