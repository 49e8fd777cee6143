#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/session_info.h"
#include "target/spawn.h"

namespace overdue {

/// What this process and its children have used so far, but for `program` and the children of that;
/// null: there is none. Children that have ended and whose end we know of count, too. Memory of a
/// process is what it had at most.
OwnUse own_use(const SpawnedProgram* program);

/// What one of our BPF objects says of itself in /proc/self/fdinfo: a name for the map or program,
/// whatever descriptor that is, and its bytes. No name: it is something else.
struct BpfMemory {
  std::string object;
  std::uint64_t bytes = 0;
};
BpfMemory parse_bpf_memory(std::string_view fdinfo);

}  // namespace overdue
