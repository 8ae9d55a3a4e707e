// A module that uses everything the IR has, at all levels, with awkward names and values.
#ifndef TENON_TESTS_SUPPORT_SAMPLE_MODULE_H
#define TENON_TESTS_SUPPORT_SAMPLE_MODULE_H

#include "tenon/ir.h"
#include "tenon/op.h"
#include "tenon/text.h"

namespace tenon::test {

/// Keeps all laws. Large constants are in `blobs` when it is given.
Module sample_module();
/// The kernel and the compute function in it.
tir::Kernel sample_kernel();
te::Compute sample_compute();
Schedule sample_schedule();

/// Fails the running test unless `m` verifies and reads back as itself, with and without locations.
void check_round_trip(const Module& m);

}  // namespace tenon::test

#endif
