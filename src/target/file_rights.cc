#include "target/file_rights.h"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/error.h"

namespace overdue {
namespace {

/// Of this thread only; the C library's function changes all.
int set_groups(const std::vector<gid_t>& groups) {
  return static_cast<int>(syscall(SYS_setgroups, groups.size(), groups.data()));
}

/// Neither call tells whether it was refused; a second one says what holds now.
bool is_in_force(uid_t user, gid_t group) {
  constexpr uid_t nobody_at_all = static_cast<uid_t>(-1);
  return static_cast<uid_t>(setfsuid(nobody_at_all)) == user &&
         static_cast<gid_t>(setfsgid(nobody_at_all)) == group;
}

}  // namespace

FileRights::FileRights(const std::optional<Identity>& user) {
  if (!user) return;
  const int count = check_errno(getgroups(0, nullptr), "cannot tell our groups");
  groups_before_.resize(static_cast<std::size_t>(count));
  check_errno(getgroups(count, groups_before_.data()), "cannot tell our groups");
  check_errno(set_groups(user->groups), "cannot open files as user {}", user->uid);
  setfsgid(user->gid);
  setfsuid(user->uid);
  changed_ = true;
  if (is_in_force(user->uid, user->gid)) return;
  give_back();
  throw Error("cannot open files as user {}: the kernel refuses that user", user->uid);
}

FileRights::~FileRights() {
  give_back();
}

void FileRights::give_back() noexcept {
  if (!changed_) return;
  changed_ = false;
  setfsuid(geteuid());
  setfsgid(getegid());
  // To go on with a user's groups would fail in places that say nothing of it.
  if (set_groups(groups_before_) != 0) std::abort();
}

}  // namespace overdue
