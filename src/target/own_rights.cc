#include "target/own_rights.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.h"

namespace overdue {
namespace {

constexpr std::uint32_t files_of_others = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
constexpr std::string_view refused = "cannot give up rights that are not needed";

void become(const Identity& user) {
  check_errno(setgroups(user.groups.size(), user.groups.data()), "{}", refused);
  check_errno(setresgid(user.gid, user.gid, user.gid), "{}", refused);
  check_errno(setresuid(user.uid, user.uid, user.uid), "{}", refused);
}

/// Of the bounding set as well, where we may: what is executed by root gets what is in there.
void keep_only(std::uint32_t capabilities) {
  for (unsigned each = 0; prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each)
    if (each >= 32 || (capabilities >> each & 1) == 0) prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[2] = {};
  check_errno(static_cast<int>(syscall(SYS_capget, &header, sets)), "{}", refused);
  sets[0] = {.effective = sets[0].permitted & capabilities,
             .permitted = sets[0].permitted & capabilities,
             .inheritable = 0};
  sets[1] = {};
  check_errno(static_cast<int>(syscall(SYS_capset, &header, sets)), "{}", refused);
}

}  // namespace

void give_up_rights(Rights needed, const std::optional<Identity>& caller) {
  if (needed == Rights::measuring) return;
  if (needed == Rights::caller && caller) become(*caller);
  keep_only(getuid() == 0 && geteuid() == 0 ? files_of_others : 0);
}

}  // namespace overdue
