#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/session_info.h"
#include "target/spawn.h"

namespace overdue {

/// CPU time and memory that this process and its children have used so far, without `program` and
/// its children; null: there is no program. Children that have ended count once they were waited
/// for. The memory of a process is its maximum so far; BPF maps that it has mapped are memory of
/// the kernel.
OwnUse own_use(const SpawnedProgram* program);

/// A BPF object in /proc/self/fdinfo: a name, which all descriptors of the map or program share,
/// and its bytes. Without a name: the descriptor is no BPF object.
struct BpfMemory {
  std::string object;
  std::uint64_t bytes = 0;
};
BpfMemory parse_bpf_memory(std::string_view fdinfo);

/// Bytes of mapped BPF maps in /proc/PID/smaps that are in memory. A ring is mapped twice.
std::uint64_t mapped_bpf_bytes(std::string_view smaps);

}  // namespace overdue
