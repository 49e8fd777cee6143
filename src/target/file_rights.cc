#include "target/file_rights.h"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/error.h"

namespace overdue {
namespace {

/// Changes the calling thread only; the C library's function changes all threads.
int set_groups(const std::vector<gid_t>& groups) {
  return static_cast<int>(syscall(SYS_setgroups, groups.size(), groups.data()));
}

/// Neither setfsuid() nor setfsgid() reports a refusal. A second call returns the id in force.
bool is_in_force(uid_t user, gid_t group) {
  constexpr uid_t nobody_at_all = static_cast<uid_t>(-1);
  return static_cast<uid_t>(setfsuid(nobody_at_all)) == user &&
         static_cast<gid_t>(setfsgid(nobody_at_all)) == group;
}

}  // namespace

FileRights::FileRights(const std::optional<Identity>& user) : before_(ThreadRights::current()) {
  if (user) become(*user);
  const bool are_roots = !user && getuid() == 0 && geteuid() == 0;
  ThreadRights now = ThreadRights::current();  // setfsuid() changes the capabilities
  now.effective &= ~file_overrides;
  if (are_roots) now.effective |= file_overrides & now.permitted;
  if (now.try_to_apply()) return;
  const int code = errno;
  give_back();  // the destructor does not run
  throw Error("cannot hold back rights over files: {}", errno_text(code));
}

FileRights::~FileRights() {
  const int code = errno;  // the caller's errno, from opening
  give_back();
  errno = code;
}

void FileRights::become(const Identity& user) {
  const int count = check_errno(getgroups(0, nullptr), "cannot tell our groups");
  groups_before_.resize(static_cast<std::size_t>(count));
  check_errno(getgroups(count, groups_before_.data()), "cannot tell our groups");
  check_errno(set_groups(user.groups), "cannot open files as user {}", user.uid);
  setfsgid(user.gid);
  setfsuid(user.uid);
  is_user_ = true;
  if (is_in_force(user.uid, user.gid)) return;
  give_back();
  throw Error("cannot open files as user {}: the kernel refuses that user", user.uid);
}

void FileRights::give_back() noexcept {
  if (is_user_) {
    setfsuid(geteuid());
    setfsgid(getegid());
  }
  // Going on with the user's groups would cause failures that do not name the reason. Going on with
  // more rights than before would be worse.
  if (is_user_ && set_groups(groups_before_) != 0) std::abort();
  if (!before_.try_to_apply()) std::abort();
  is_user_ = false;
}

}  // namespace overdue
