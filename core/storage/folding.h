// From values to tokens: everything that a planner never sees is settled here.
//
// Values that are the same, or views of each other, become one token: size, strictest alignment,
// hull of lifetimes, intersection of pools (in the order of the base, costs added up), one pin;
// `parts` say which bytes are occupied when, if that is not all of them always. In-place pairs
// become joins where one token as a whole dies in the step that makes the other. Reserved bytes of
// a pool are pinned tokens that live in all steps. Values of 0 bytes have no token, an empty
// lifetime becomes one step. The result is canonical: it does not depend on the order of values.
#ifndef TENON_CORE_STORAGE_FOLDING_H
#define TENON_CORE_STORAGE_FOLDING_H

#include "tenon/storage.h"

namespace tenon {

/// Contradictions, with the names of both values: 4221 relations that disagree about an offset,
/// 4222 a view that leaves its base, 4223 an alignment that no place of the base gives, 4224 no
/// pool in common, 4225 pins that disagree, 4226 sizes past 64 bits, 4227 a value or relation that
/// is malformed. Then the checks of a request (41xx).
Result<StorageRequest> fold(const StorageValues& values);

}  // namespace tenon

#endif
