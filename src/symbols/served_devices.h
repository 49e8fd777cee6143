#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string_view>

#include "base/fd.h"

namespace overdue {

/// Which devices hold files that another process or another host serves (FUSE, NFS, CIFS, 9p, …):
/// to open such a file, or to ask for its size, may take as long as that one likes, and no signal
/// ends the wait. Used by one thread.
class ServedDevices {
 public:
  ServedDevices();

  /// `pid` has the device mounted, where we have not. Of one that is mounted nowhere (a file system
  /// may be mounted, mapped from, and taken away) a child asks about `named`, an O_PATH descriptor
  /// of a file there: who keeps that child waiting for a fifth of a second serves it. Without
  /// `named` it counts as served.
  bool is_served(dev_t device, pid_t pid, const Fd& named);

  /// How often the answer was yes.
  std::uint64_t refused() const { return refused_; }

  /// Of the type that /proc/PID/mountinfo gives a file system.
  static bool is_served_type(std::string_view type);

 private:
  void learn(std::string_view mountinfo);

  std::map<dev_t, bool> known_;  ///< within bounds
  std::uint64_t refused_ = 0;
};

/// Of this process: every file of a process that is measured is opened by way of it.
ServedDevices& served_devices();

}  // namespace overdue
