// What the host has to know of a shared object before the loader may touch it. Trusts no number in
// the file: every range is checked against the file's size, every table against a limit. Cost: a
// few small reads, 0.1-1 ms.
//
// Why not leave it to dlopen: it maps what the program headers promise, and a file cut short kills
// the process (SIGBUS).
#ifndef TENON_CORE_PLUGIN_HOST_ELF_H
#define TENON_CORE_PLUGIN_HOST_ELF_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/plugin_host/file.h"
#include "tenon/diag.h"

namespace tenon::plugin_host {

struct ElfFacts {
  std::vector<std::string> needed;   ///< DT_NEEDED
  std::vector<std::string> defined;  ///< names of the dynamic symbols that it defines
  std::uint64_t descriptor_at = 0;   ///< file offset of the object `tenon_plugin`
  std::uint64_t descriptor_size =
      0;  ///< bytes from there to the end of its segment's file part; 0: no such symbol
};

/// TN1003: not an ELF shared object of this machine, or a range in it lies outside the file.
Result<ElfFacts> read_elf(const PluginFile& file);

}  // namespace tenon::plugin_host

#endif
