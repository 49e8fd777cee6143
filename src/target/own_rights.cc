#include "target/own_rights.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "base/thread_rights.h"

namespace overdue {
namespace {

constexpr std::string_view refused = "cannot drop rights that are not needed";

std::uint64_t set_of(std::initializer_list<unsigned> capabilities) {
  std::uint64_t set = 0;
  for (const unsigned each : capabilities) set |= std::uint64_t{1} << each;
  return set;
}

/// To read records, files of programs and /proc; to attach to programs that start later; to become
/// the user of an output file; to create processes without rights and to end the started program;
/// and to allocate while memory is locked (timerlat, osnoise).
std::uint64_t needed_to_measure() {
  return file_overrides |
         set_of({CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE,
                 CAP_SETUID, CAP_SETGID, CAP_KILL, CAP_IPC_LOCK});
}

void become(const Identity& user) {
  check_errno(setgroups(user.groups.size(), user.groups.data()), "{}", refused);
  check_errno(setresgid(user.gid, user.gid, user.gid), "{}", refused);
  check_errno(setresuid(user.uid, user.uid, user.uid), "{}", refused);
}

/// Limits the bounding set too, if permitted: a program that root executes gets the capabilities in
/// that set.
void keep_only(std::uint64_t capabilities) {
  for (unsigned each = 0; prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each)
    if ((capabilities >> each & 1) == 0) prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  ThreadRights::current().only(capabilities).apply();
}

void hold_back_file_rights() {
  ThreadRights rights = ThreadRights::current();
  rights.effective = rights.permitted & ~file_overrides;
  rights.apply();
}

}  // namespace

void drop_rights(Rights needed, const std::optional<Identity>& caller) {
  if (needed == Rights::measuring) return hold_back_file_rights();
  if (needed == Rights::caller && caller) become(*caller);
  keep_only(getuid() == 0 && geteuid() == 0 ? file_overrides : 0);
}

void drop_rights_to_attach(Helpers helpers, Attaching attaching) {
  ThreadRights rights = ThreadRights::current();
  rights.effective = rights.permitted & needed_to_measure() & ~file_overrides;
  const std::uint64_t kept = attaching == Attaching::goes_on ? attach_rights : 0;
  if (helpers == Helpers::none) rights.permitted &= needed_to_measure() | kept;
  rights.apply();
}

}  // namespace overdue
