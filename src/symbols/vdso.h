#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "symbols/process_maps.h"

namespace overdue {

/// The ELF file that the kernel maps as [vdso], from the memory of the process. If that memory
/// cannot be read, Overdue's own [vdso], if its size is the same and the process is not a 32-bit
/// one. Empty otherwise.
std::vector<std::byte> read_vdso(pid_t pid, const Mapping& mapping);

}  // namespace overdue
