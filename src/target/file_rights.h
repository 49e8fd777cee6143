#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "base/thread_rights.h"
#include "target/identity.h"

namespace overdue {

/// While one lives, the calling thread opens, creates and follows links with the rights of `user`
/// instead of root's (setfsuid(2), and no capability that overrides permissions of files). Where
/// there is no user it has those of who started us: root's are all, and the capabilities of our
/// file (setcap) open nothing. Signals, tracing and the rest of what root may do stay as they are.
/// Not nested. Throws Error where the kernel refuses.
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
