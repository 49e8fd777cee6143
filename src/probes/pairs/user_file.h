#pragma once

#include <string>

#include "base/fd.h"
#include "probes/pairs/spec.h"

namespace overdue {

/// The file of a uprobe, uretprobe or USDT probe, held open: what is looked into is what the kernel
/// then attaches to, whatever becomes of the path.
struct UserFile {
  Fd file;
  std::string path;          ///< where it was found
  std::uint64_t offset = 0;  ///< of the function; not for USDT probes

  /// A path that stays right while this object lives.
  std::string stable_path() const;
};

/// Finds the file (a bare name is looked for in $PATH, a library's where libraries are) and what is
/// to be attached to in it. Throws Error (exit status 2) that names what would be right.
UserFile open_user_file(const EventSpec& event);

}  // namespace overdue
