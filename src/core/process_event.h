#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/time.h"

namespace overdue {

/// Something the kernel says of the address space of a process, so that what is needed of it is
/// still known when it has ended. All text is hostile.
struct ProcessEvent {
  enum class Kind : std::uint8_t {
    mapping,  ///< memory with code was mapped, or became executable
    exec,     ///< it begins anew: all mappings are gone, `text` is its new name
    name,     ///< a thread is called `text` now
    fork,     ///< of a process or a thread (then pid is parent_pid)
    exit,     ///< of a thread
    lost,     ///< `lost_events` before this one found no room
  };
  Kind kind = Kind::lost;
  KernelTime time{};
  pid_t pid = 0;
  pid_t tid = 0;
  pid_t parent_pid = 0;  ///< fork, exit

  // A mapping. Of the file there are device and inode, or, where those were asked for, the build
  // id.
  bool is_executable = false;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::uint64_t inode_generation = 0;  ///< differs between files that had the inode in turn
  std::string build_id{};              ///< lower-case hexadecimal

  std::string text{};  ///< a mapping's path as the process sees it, " (deleted)" behind it; a name
  std::uint64_t lost_events = 0;
};

}  // namespace overdue
