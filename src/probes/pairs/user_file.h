#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "probes/pairs/spec.h"
#include "symbols/elf_events.h"

namespace overdue {

/// The file of a uprobe, uretprobe or USDT probe, held open: what is looked into is what the kernel
/// then attaches to, whatever becomes of the path.
struct UserFile {
  Fd file;
  std::string path;  ///< where it was found

  /// A path that stays right while this object lives.
  std::string stable_path() const;
};

/// Where in the file a user event is.
struct UserPlaces {
  std::shared_ptr<const UserFile> file;
  /// One for a function. A USDT probe may stand in several places, each with arguments of its own.
  std::vector<EventSite> sites;
};

/// Finds the file (a bare name is looked for in $PATH, a library's where libraries are) and what is
/// to be attached to in it. Throws Error (exit status 2) that names what would be right.
UserPlaces find_user_event(const EventSpec& event, EventFinder& finder);

}  // namespace overdue
