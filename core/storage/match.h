// Holds a request against the values it was folded from: the second check beside the judge. It
// shares no code with the folding. TN40xx:
//
//   4021  a value stands in no token                       4026  a token may live where a value of
//   it may not 4022  a value stands in two tokens                     4027  a value's pin is not
//   its token's, or a pin from nowhere 4023  a member is not its value, or leaves its token   4028
//   alias or view and base are apart 4024  a token is aligned less than a value needs       4029  a
//   join that no kernel declares 4025  a value lives when its token's bytes do not      4030
//   reserved bytes are not kept
#ifndef TENON_CORE_STORAGE_MATCH_H
#define TENON_CORE_STORAGE_MATCH_H

#include "tenon/storage.h"

namespace tenon {

/// Any plan that is right for `r` by judge_slots is then right for `v` by judge_values. At most 20
/// errors.
Status check_request_against_values(const StorageValues& v, const StorageRequest& r);

}  // namespace tenon

#endif
