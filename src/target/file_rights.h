#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "base/thread_rights.h"
#include "target/identity.h"

namespace overdue {

/// While this object lives, the calling thread opens files, creates files and follows links with
/// the rights of `user` instead of root's: setfsuid(2), and no capability that overrides file
/// permissions. Without a user, the thread has the file rights of the user who started Overdue: all
/// of them for root, and none from capabilities of Overdue's own file (setcap). Root's other
/// rights, such as signals and tracing, stay. Not nested. Throws Error if the kernel refuses.
class FileRights {
 public:
  explicit FileRights(const std::optional<Identity>& user);
  ~FileRights();
  FileRights(const FileRights&) = delete;
  FileRights& operator=(const FileRights&) = delete;

 private:
  void become(const Identity& user);
  void give_back() noexcept;

  ThreadRights before_;
  bool is_user_ = false;
  std::vector<gid_t> groups_before_;
};

}  // namespace overdue
