#include "base/thread_rights.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/error.h"

namespace overdue {
namespace {

using Halves = std::array<__user_cap_data_struct, 2>;

constexpr std::uint64_t bit(unsigned capability) {
  return std::uint64_t{1} << capability;
}

std::uint64_t whole(std::uint32_t low, std::uint32_t high) {
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

const std::uint64_t read_override = bit(CAP_DAC_READ_SEARCH);
const std::uint64_t file_overrides = bit(CAP_DAC_READ_SEARCH) | bit(CAP_DAC_OVERRIDE);
const std::uint64_t attach_rights = bit(CAP_SYS_ADMIN);

ThreadRights ThreadRights::current() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  Halves halves{};
  check_errno(static_cast<int>(syscall(SYS_capget, &header, halves.data())),
              "cannot tell our own capabilities");
  return {.effective = whole(halves[0].effective, halves[1].effective),
          .permitted = whole(halves[0].permitted, halves[1].permitted)};
}

bool ThreadRights::try_to_apply() const noexcept {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  Halves halves{};
  for (unsigned i = 0; i < halves.size(); ++i) {
    halves[i].effective = static_cast<std::uint32_t>(effective >> 32 * i);
    halves[i].permitted = static_cast<std::uint32_t>(permitted >> 32 * i);
  }
  return syscall(SYS_capset, &header, halves.data()) == 0;
}

void ThreadRights::apply() const {
  if (!try_to_apply()) throw Error("cannot change our own capabilities: {}", errno_text(errno));
}

AddedRights::AddedRights(std::uint64_t wanted)
    : before_(ThreadRights::current()),
      has_added_((wanted & before_.permitted & ~before_.effective) != 0) {
  if (has_added_)
    ThreadRights{.effective = before_.effective | (wanted & before_.permitted),
                 .permitted = before_.permitted}
        .apply();
}

AddedRights::~AddedRights() {
  const int code = errno;                                   // of the caller's last operation
  if (has_added_ && !before_.try_to_apply()) std::abort();  // safer than keeping the right
  errno = code;
}

}  // namespace overdue
