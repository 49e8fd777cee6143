#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "probes/pairs/spec.h"
#include "symbols/elf_events.h"

namespace overdue {

/// The usual folders of libraries.
constexpr std::array<std::string_view, 6> library_folders{
    "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
    "/lib",   "/usr/lib"};

/// The file of a uprobe, uretprobe or USDT probe, held open: the kernel attaches to the same file
/// that was examined, whatever becomes of the path.
struct UserFile {
  Fd file;
  std::string path;  ///< where it was found

  /// A path that stays valid while this object lives.
  std::string stable_path() const;
};

/// The places of a user event in the file.
struct UserPlaces {
  std::shared_ptr<const UserFile> file;
  /// One for a function. A USDT probe may have several sites, each with arguments of its own.
  std::vector<EventSite> sites;
};

/// Finds the file (a bare name in $PATH, a library in the directories of libraries) and the places
/// in it to attach to. Throws Error (exit status 2) with a correction.
UserPlaces find_user_event(const EventSpec& event, EventFinder& finder);

}  // namespace overdue
