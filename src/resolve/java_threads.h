#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "resolve/read_memory.h"
#include "symbols/file_bytes.h"
#include "symbols/process_maps.h"

namespace overdue {

/// A thread, by its id in the PID namespace of its process. The name is hostile text.
struct NamedThread {
  std::uint32_t tid = 0;
  std::string name;

  bool operator==(const NamedThread&) const = default;
};

/// Whether the mapping may be that of HotSpot, the virtual machine of OpenJDK.
bool may_be_jvm(const Mapping& mapping);

/// The names that Java code gave to those of the threads `cut` whose name in the kernel is the
/// first 15 bytes of a longer name. `mapping` maps `file`, the library of the virtual machine. The
/// machine is not stopped: it may move its objects meanwhile, so only a name that begins with the
/// kernel's name counts. At most 256 bytes of a name. File and memory are hostile.
std::vector<NamedThread> java_thread_names(const Mapping& mapping, const FileBytes& file,
                                           const ReadMemory& memory,
                                           std::span<const NamedThread> cut);

}  // namespace overdue
