#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "symbols/process_maps.h"

namespace overdue {

/// The ELF file that the kernel maps as [vdso], from the memory of the process; of one that is gone
/// or that we may not read, our own, if it is as long and the process is not a 32-bit one. Empty
/// where neither can be.
std::vector<std::byte> read_vdso(pid_t pid, const Mapping& mapping);

}  // namespace overdue
