#include "target/terminal_guard.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

namespace overdue {
namespace {

constexpr unsigned ioctl_of_i386 = 54;
constexpr unsigned x32_bit = 0x4000'0000, ioctl_of_x32 = x32_bit | 514;

bool has_terminal() {
  const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return false;
  close(terminal);
  return true;
}

bool is_at_own_terminal(uid_t user) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status{};
    if (isatty(stream) == 1 && fstat(stream, &status) == 0 && status.st_uid == user) return true;
  }
  return false;
}

constexpr sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}
/// Skips `instructions` instructions if the loaded word is `value`.
constexpr sock_filter skip_if(unsigned value, unsigned char instructions) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, instructions, 0);
}
constexpr sock_filter end(unsigned verdict) {
  return BPF_STMT(BPF_RET | BPF_K, verdict);
}

}  // namespace

int forbid_typing_as(uid_t user) {
  if (!has_terminal() || is_at_own_terminal(user)) return 0;
  // For nearly all calls the call number alone decides: the kernel caches that and does not run the
  // filter.
  static sock_filter instructions[] = {
      load(offsetof(seccomp_data, arch)),
      skip_if(AUDIT_ARCH_I386, 5),
      load(offsetof(seccomp_data, nr)),
      skip_if(SYS_ioctl, 6),
      skip_if(x32_bit | SYS_ioctl, 5),
      skip_if(ioctl_of_x32, 4),
      end(SECCOMP_RET_ALLOW),
      load(offsetof(seccomp_data, nr)),  // i386
      skip_if(ioctl_of_i386, 1),
      end(SECCOMP_RET_ALLOW),
      load(offsetof(seccomp_data, args[1])),  // the kernel uses only the lower half
      skip_if(TIOCSTI, 2),
      skip_if(TIOCLINUX, 1),
      end(SECCOMP_RET_ALLOW),
      end(SECCOMP_RET_ERRNO | EPERM),
  };
  const sock_fprog filter{.len = static_cast<unsigned short>(std::size(instructions)),
                          .filter = instructions};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0 ? 0 : errno;
}

}  // namespace overdue
