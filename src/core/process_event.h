#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/time.h"

namespace overdue {

/// A change of a process's address space, as the kernel reports it: keeps the mappings known after
/// the process has ended. All text is hostile.
struct ProcessEvent {
  enum class Kind : std::uint8_t {
    mapping,  ///< memory with code was mapped, or became executable
    exec,     ///< an exec: all mappings are gone, `text` is the new name
    name,     ///< `text` is the new name of a thread
    fork,     ///< of a process or a thread (then pid is parent_pid)
    exit,     ///< of a thread
    lost,     ///< there was no room for `lost_events` earlier events
  };
  Kind kind = Kind::lost;
  KernelTime time{};
  pid_t pid = 0;
  pid_t tid = 0;
  pid_t parent_pid = 0;  ///< fork, exit

  // A mapping. Its file is given by device and inode, or, if asked for, by build id.
  bool is_executable = false;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::uint64_t inode_generation = 0;  ///< differs between successive files with the same inode
  std::string build_id{};              ///< lower-case hexadecimal

  std::string text{};  ///< path as the process sees it, with " (deleted)" if so; or a name
  std::uint64_t lost_events = 0;
};

}  // namespace overdue
