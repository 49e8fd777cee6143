#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string_view>

#include "base/fd.h"

namespace overdue {

/// The devices whose files another process or another host serves (FUSE, NFS, CIFS, 9p, …). Opening
/// such a file, or asking for its size, can take as long as the server likes, and no signal ends
/// the wait. Used by one thread.
class ServedDevices {
 public:
  ServedDevices();

  /// Whether the device is served, by the mounts of `pid` and of Overdue. If the device is mounted
  /// in neither (a file system may be mounted, mapped from, and unmounted), a child asks about
  /// `named`, an O_PATH descriptor of a file on the device: if the child waits for a fifth of a
  /// second, or finds such a file system, the device is served. Without `named`, the device counts
  /// as served.
  bool is_served(dev_t device, pid_t pid, const Fd& named);

  /// How often is_served() returned true.
  std::uint64_t refused() const { return refused_; }

  /// Whether a file system of this type, as in /proc/PID/mountinfo, is served.
  static bool is_served_type(std::string_view type);

 private:
  void learn(std::string_view mountinfo);

  std::map<dev_t, bool> known_;  ///< bounded
  std::uint64_t refused_ = 0;
};

/// The instance of this process. Every file of a measured process is checked with it before it is
/// opened.
ServedDevices& served_devices();

}  // namespace overdue
