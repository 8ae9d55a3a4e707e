// Memory of the process: see allocation.cpp.
#ifndef TENON_CORE_CLI_ALLOCATION_H
#define TENON_CORE_CLI_ALLOCATION_H

namespace tenon::cli {

/// Gives back what is free, where that is much. A step of a pipeline frees most of what it used,
/// and what the next one takes has other sizes: kept, it would count twice in the peak.
void give_back_memory();

}  // namespace tenon::cli

#endif
