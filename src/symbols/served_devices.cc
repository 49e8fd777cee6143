#include "symbols/served_devices.h"

#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t max_known = 4096;
constexpr std::size_t device_at = 2;  // word of a line of mountinfo, proc_pid_mountinfo(5)

dev_t device_of(std::string_view text) {
  unsigned numbers[2] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (unsigned& number : numbers) {
    at = std::from_chars(at, end, number).ptr;
    if (at != end) ++at;
  }
  return makedev(numbers[0], numbers[1]);
}

/// Runs in the child: waits for the server of the file, if there is one.
[[noreturn]] void ask(const Fd& named) {
  struct statfs system{};
  if (fstatfs(named.get(), &system) != 0) _exit(1);
  switch (static_cast<unsigned>(system.f_type)) {
    case FUSE_SUPER_MAGIC:
    case NFS_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case V9FS_MAGIC:
    case CEPH_SUPER_MAGIC:
      _exit(1);
    default:
      _exit(0);
  }
}

bool keeps_a_child_waiting(const Fd& named) {
  constexpr int patience_ms = 200;
  const pid_t child = fork();
  if (child == 0) ask(named);
  if (child < 0) return true;
  const Fd end(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  pollfd ready{.fd = end.get(), .events = POLLIN, .revents = 0};
  if (!end || poll(&ready, 1, patience_ms) <= 0) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return true;
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

}  // namespace

bool ServedDevices::is_served_type(std::string_view type) {
  constexpr std::array<std::string_view, 9> types = {"fuse", "fuseblk", "nfs",  "nfs4",  "cifs",
                                                     "smb3", "9p",      "ceph", "autofs"};
  return type.starts_with("fuse.") || std::ranges::find(types, type) != types.end();
}

/// A memfd is on a file system of the kernel's own, which no process has mounted.
ServedDevices::ServedDevices() {
  const Fd memory(memfd_create("overdue", MFD_CLOEXEC));
  struct stat status{};
  if (memory && fstat(memory.get(), &status) == 0) known_[status.st_dev] = false;
}

void ServedDevices::learn(std::string_view mountinfo) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto words = split(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() <= device_at || words.end() - dash < 2) continue;
    if (known_.size() >= max_known) return;
    known_.try_emplace(device_of(words[device_at]), is_served_type(*(dash + 1)));
  }
}

bool ServedDevices::is_served(dev_t device, pid_t pid, const Fd& named) {
  if (major(device) != 0) return false;  // a disk
  if (!known_.contains(device)) {
    if (known_.size() >= max_known) known_ = ServedDevices().known_;
    for (const std::string& who : {std::to_string(pid), std::string("self")})
      learn(read_text(fmt::format("/proc/{}/mountinfo", who)).value_or(""));
  }
  if (!known_.contains(device)) known_[device] = !named || keeps_a_child_waiting(named);
  const bool is_served = known_[device];
  refused_ += is_served;
  return is_served;
}

ServedDevices& served_devices() {
  static ServedDevices devices;
  return devices;
}

}  // namespace overdue
