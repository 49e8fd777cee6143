#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "target/identity.h"

namespace overdue {

/// While one lives, the calling thread opens, creates and follows links with the rights of `user`
/// instead of root's; with its own rights where there is no user. Signals, tracing and the rest of
/// what root may do stay as they are (setfsuid(2), which also takes the capabilities that override
/// permissions of files). Not nested. Throws Error where the kernel refuses.
class FileRights {
 public:
  explicit FileRights(const std::optional<Identity>& user);
  ~FileRights();
  FileRights(const FileRights&) = delete;
  FileRights& operator=(const FileRights&) = delete;

 private:
  void give_back() noexcept;

  bool changed_ = false;
  std::vector<gid_t> groups_before_;
};

}  // namespace overdue
