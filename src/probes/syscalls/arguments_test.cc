#include "probes/syscalls/arguments.h"

#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/syscalls/names.h"
#include "probes/syscalls/signatures.h"

namespace overdue {
namespace {

using Values = std::vector<std::uint64_t>;
using Texts = std::vector<std::string>;

constexpr std::uint64_t cwd = static_cast<std::uint32_t>(-100);
constexpr std::uint64_t pointer = 0x7ffc0010;
constexpr std::uint64_t minus_one = ~0ull;

syscall_call make_call(std::uint16_t abi, std::uint32_t nr, const Values& values) {
  syscall_call call{};
  call.abi = abi;
  call.nr = nr;
  std::copy(values.begin(), values.end(), call.arguments);
  return call;
}

std::string join(std::span<const std::string_view> arguments) {
  return fmt::format("{}", fmt::join(arguments, ", "));
}

/// Decodes a call whose string arguments, as text_argument_mask() has them, are `texts`.
std::string decode(std::string_view name, const Values& values, const Texts& texts = {},
                   std::uint16_t abi = ABI_NATIVE, std::uint8_t truncated = 0) {
  syscall_call call = make_call(abi, syscall_number(abi, name).value(), values);
  std::string bytes;
  for (const std::string& text : texts) bytes += text + '\0';
  if (!texts.empty()) call.text_arguments = text_argument_mask(abi, call.nr);
  call.text_truncated = truncated;
  call.text_size = static_cast<u16>(bytes.size());
  ArgumentDecoder decoder;
  return join(decoder.decode(call, std::as_bytes(std::span(bytes))));
}

struct Golden {
  const char* name;
  Values values;
  Texts texts;
  const char* expected;
};

TEST(Arguments, OfFileCalls) {
  const Golden cases[] = {
      {"read", {3, pointer, 4096}, {}, "fd=3, buf=0x7ffc0010, count=4096"},
      {"write", {1, pointer, 0}, {}, "fd=1, buf=0x7ffc0010, count=0"},
      {"close", {minus_one}, {}, "fd=-1"},
      {"open", {pointer, 0, 0777}, {"/etc/passwd"}, "pathname=\"/etc/passwd\", flags=O_RDONLY"},
      {"open",
       {pointer, 0x241, 0644},
       {"x"},
       "pathname=\"x\", flags=O_WRONLY|O_CREAT|O_TRUNC, mode=0644"},
      {"openat",
       {cwd, pointer, 0x80000},
       {"a"},
       "dirfd=AT_FDCWD, pathname=\"a\", flags=O_RDONLY|O_CLOEXEC"},
      {"openat",
       {cwd, pointer, 0x410002, 0600},
       {"/tmp"},
       "dirfd=AT_FDCWD, pathname=\"/tmp\", flags=O_RDWR|O_TMPFILE, mode=0600"},
      {"openat",
       {5, pointer, 0x101000 | 0x80000000u},
       {"a"},
       "dirfd=5, pathname=\"a\", flags=O_RDONLY|O_SYNC|0x80000000"},
      {"openat2",
       {cwd, pointer, pointer, 24},
       {"a"},
       "dirfd=AT_FDCWD, pathname=\"a\", how=0x7ffc0010, size=24"},
      {"creat", {pointer, 0100644}, {"f"}, "pathname=\"f\", mode=0100644"},
      {"stat", {pointer, pointer}, {""}, "pathname=\"\", statbuf=0x7ffc0010"},
      {"newfstatat",
       {3, pointer, pointer, 0x1000},
       {""},
       "dirfd=3, pathname=\"\", statbuf=0x7ffc0010, flags=AT_EMPTY_PATH"},
      {"statx",
       {cwd, pointer, 0x900, 0x7ff, pointer},
       {"a"},
       "dirfd=AT_FDCWD, pathname=\"a\", flags=AT_SYMLINK_NOFOLLOW|AT_NO_AUTOMOUNT, "
       "mask=STATX_BASIC_STATS, "
       "buffer=0x7ffc0010"},
      {"rename", {pointer, pointer}, {"old", "new"}, "oldpath=\"old\", newpath=\"new\""},
      {"renameat2",
       {cwd, pointer, 4, pointer, 2},
       {"old", "new"},
       "olddirfd=AT_FDCWD, oldpath=\"old\", newdirfd=4, newpath=\"new\", flags=RENAME_EXCHANGE"},
      {"symlinkat",
       {pointer, cwd, pointer},
       {"to", "at"},
       "oldpath=\"to\", newdirfd=AT_FDCWD, newpath=\"at\""},
      {"unlinkat",
       {cwd, pointer, 0x200},
       {"d"},
       "dirfd=AT_FDCWD, pathname=\"d\", flags=AT_REMOVEDIR"},
      {"mkdir", {pointer, 0755}, {"d"}, "pathname=\"d\", mode=0755"},
      {"access", {pointer, 0}, {"f"}, "pathname=\"f\", mode=F_OK"},
      {"access", {pointer, 5}, {"f"}, "pathname=\"f\", mode=R_OK|X_OK"},
      {"faccessat2",
       {cwd, pointer, 4, 0x200},
       {"f"},
       "dirfd=AT_FDCWD, pathname=\"f\", mode=R_OK, flags=AT_EACCESS"},
      {"chown", {pointer, 1000, minus_one}, {"f"}, "pathname=\"f\", user=1000, group=-1"},
      {"mknodat",
       {cwd, pointer, 0020600, 0x103},
       {"null"},
       "dirfd=AT_FDCWD, pathname=\"null\", mode=S_IFCHR|0600, dev=1:3"},
      {"lseek", {3, static_cast<std::uint64_t>(-8), 2}, {}, "fd=3, offset=-8, whence=SEEK_END"},
      {"fallocate",
       {3, 3, 0, 4096},
       {},
       "fd=3, mode=FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, offset=0, len=4096"},
      {"fcntl", {3, 1, 77}, {}, "fd=3, cmd=F_GETFD"},
      {"fcntl", {3, 2, 1}, {}, "fd=3, cmd=F_SETFD, arg=FD_CLOEXEC"},
      {"fcntl", {3, 4, 0x802}, {}, "fd=3, cmd=F_SETFL, arg=O_RDWR|O_NONBLOCK"},
      {"fcntl", {3, 1030, 10}, {}, "fd=3, cmd=F_DUPFD_CLOEXEC, arg=10"},
      {"fcntl", {3, 6, pointer}, {}, "fd=3, cmd=F_SETLK, arg=0x7ffc0010"},
      {"ioctl", {1, 0x5413, pointer}, {}, "fd=1, cmd=TIOCGWINSZ, arg=0x7ffc0010"},
      {"ioctl", {1, 0x541b, pointer}, {}, "fd=1, cmd=FIONREAD, arg=0x7ffc0010"},
      {"ioctl", {1, 0xdeadbeef, 0}, {}, "fd=1, cmd=0xdeadbeef, arg=0"},
      {"dup3", {3, 4, 0x80000}, {}, "oldfd=3, newfd=4, flags=O_CLOEXEC"},
      {"pipe2", {pointer, 0x80800}, {}, "pipefd=0x7ffc0010, flags=O_NONBLOCK|O_CLOEXEC"},
      {"pread64", {3, pointer, 832, 64}, {}, "fd=3, buf=0x7ffc0010, count=832, offset=64"},
      {"flock", {3, 6}, {}, "fd=3, cmd=LOCK_EX|LOCK_NB"},
      {"mount",
       {pointer, pointer, pointer, 0x1001, 0},
       {"/dev/sda1", "/mnt"},
       "source=\"/dev/sda1\", target=\"/mnt\", type=0x7ffc0010, flags=MS_RDONLY|MS_BIND, "
       "data=NULL"},
      {"umount2", {pointer, 2}, {"/mnt"}, "target=\"/mnt\", flags=MNT_DETACH"},
      {"setxattr",
       {pointer, pointer, pointer, 5, 1},
       {"f", "user.a"},
       "pathname=\"f\", name=\"user.a\", value=0x7ffc0010, size=5, flags=XATTR_CREATE"},
      {"inotify_add_watch",
       {3, pointer, 0x102},
       {"d"},
       "fd=3, pathname=\"d\", mask=IN_MODIFY|IN_CREATE"},
      {"fanotify_mark",
       {3, 1, 0x40000020, cwd, pointer},
       {"d"},
       "fanotify_fd=3, flags=FAN_MARK_ADD, mask=FAN_OPEN|FAN_ONDIR, dirfd=AT_FDCWD, "
       "pathname=\"d\""},
      {"memfd_create", {pointer, 1}, {"shm"}, "name=\"shm\", flags=MFD_CLOEXEC"},
      {"umask", {022}, {}, "mask=022"},
  };
  for (const Golden& each : cases)
    EXPECT_EQ(decode(each.name, each.values, each.texts), each.expected);
}

TEST(Arguments, OfMemoryProcessAndSignalCalls) {
  const Golden cases[] = {
      {"mmap",
       {0, 8192, 3, 0x22, minus_one, 0},
       {},
       "addr=NULL, length=8192, prot=PROT_READ|PROT_WRITE, flags=MAP_PRIVATE|MAP_ANONYMOUS, fd=-1, "
       "offset=0"},
      {"mmap",
       {pointer, 1, 0, 0x13, 3, 0x1000},
       {},
       "addr=0x7ffc0010, length=1, prot=PROT_NONE, flags=MAP_SHARED_VALIDATE|MAP_FIXED, fd=3, "
       "offset=0x1000"},
      {"mprotect",
       {pointer, 4096, 5},
       {},
       "addr=0x7ffc0010, length=4096, prot=PROT_READ|PROT_EXEC"},
      {"munmap", {pointer, 4096}, {}, "addr=0x7ffc0010, len=4096"},
      {"mremap",
       {pointer, 1, 2, 1, 99},
       {},
       "addr=0x7ffc0010, old_size=1, new_size=2, flags=MREMAP_MAYMOVE"},
      {"mremap",
       {pointer, 1, 2, 3, pointer},
       {},
       "addr=0x7ffc0010, old_size=1, new_size=2, flags=MREMAP_MAYMOVE|MREMAP_FIXED, "
       "new_addr=0x7ffc0010"},
      {"madvise", {pointer, 4096, 4}, {}, "addr=0x7ffc0010, length=4096, advice=MADV_DONTNEED"},
      {"brk", {0}, {}, "addr=NULL"},
      {"clone",
       {0x1200011, 0, 0, pointer, 0},
       {},
       "flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, stack=NULL, parent_tid=NULL, "
       "child_tid=0x7ffc0010, tls=NULL"},
      {"clone3", {pointer, 88}, {}, "uargs=0x7ffc0010, size=88"},
      {"execve",
       {pointer, pointer, pointer},
       {"/bin/ls"},
       "pathname=\"/bin/ls\", argv=0x7ffc0010, envp=0x7ffc0010"},
      {"exit_group", {1}, {}, "status=1"},
      {"wait4", {minus_one, 0, 1, 0}, {}, "pid=-1, wstatus=NULL, options=WNOHANG, rusage=NULL"},
      {"waitid",
       {3, 7, pointer, 4, 0},
       {},
       "which=P_PIDFD, pid=7, infop=0x7ffc0010, options=WEXITED, rusage=NULL"},
      {"kill", {1234, 15}, {}, "pid=1234, sig=SIGTERM"},
      {"kill", {static_cast<std::uint64_t>(-5), 0}, {}, "pid=-5, sig=0"},
      {"tgkill", {1, 2, 34}, {}, "tgid=1, tid=2, sig=SIGRT_2"},
      {"rt_sigaction",
       {11, pointer, 0, 8},
       {},
       "sig=SIGSEGV, act=0x7ffc0010, oldact=NULL, sigsetsize=8"},
      {"rt_sigprocmask",
       {2, pointer, 0, 8},
       {},
       "how=SIG_SETMASK, set=0x7ffc0010, oldset=NULL, sigsetsize=8"},
      {"arch_prctl", {0x1002, 0x7f00}, {}, "option=ARCH_SET_FS, arg2=0x7f00"},
      {"prctl", {15, pointer, 9, 9, 9}, {}, "option=PR_SET_NAME, arg2=0x7ffc0010"},
      {"prctl", {1, 9, 0, 0, 0}, {}, "option=PR_SET_PDEATHSIG, arg2=SIGKILL"},
      {"prctl",
       {38, 1, 0, 0, 0},
       {},
       "option=PR_SET_NO_NEW_PRIVS, arg2=0x1, arg3=0, arg4=0, arg5=0"},
      {"ptrace", {0x4206, 12, 0, 0x1f}, {}, "request=PTRACE_SEIZE, pid=12, addr=0, data=0x1f"},
      {"futex",
       {pointer, 0x80, 2, 0, 5, 5},
       {},
       "uaddr=0x7ffc0010, op=FUTEX_WAIT_PRIVATE, val=2, timeout=NULL"},
      {"futex", {pointer, 0x81, 1, 5, 5, 5}, {}, "uaddr=0x7ffc0010, op=FUTEX_WAKE_PRIVATE, val=1"},
      {"futex",
       {pointer, 0x189, 0, 0, 0, 0xffffffff},
       {},
       "uaddr=0x7ffc0010, op=FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, val=0, timeout=NULL, "
       "val3=0xffffffff"},
      {"futex",
       {pointer, 4, 1, 2, pointer, 3},
       {},
       "uaddr=0x7ffc0010, op=FUTEX_CMP_REQUEUE, val=1, val2=2, uaddr2=0x7ffc0010, val3=3"},
      {"clock_nanosleep",
       {1, 1, pointer, 0},
       {},
       "clockid=CLOCK_MONOTONIC, flags=TIMER_ABSTIME, request=0x7ffc0010, remain=NULL"},
      {"timerfd_create", {1, 0x80000}, {}, "clockid=CLOCK_MONOTONIC, flags=TFD_CLOEXEC"},
      {"setitimer", {0, pointer, 0}, {}, "which=ITIMER_REAL, value=0x7ffc0010, ovalue=NULL"},
      {"prlimit64",
       {0, 7, 0, pointer},
       {},
       "pid=0, resource=RLIMIT_NOFILE, new_rlim=NULL, old_rlim=0x7ffc0010"},
      {"getrusage", {0xffffffff, pointer}, {}, "who=RUSAGE_CHILDREN, rusage=0x7ffc0010"},
      {"sched_setscheduler",
       {0, 0x40000001, pointer},
       {},
       "pid=0, policy=SCHED_FIFO|SCHED_RESET_ON_FORK, param=0x7ffc0010"},
      {"unshare", {0x20000}, {}, "flags=CLONE_NEWNS"},
      {"getpid", {1, 2, 3}, {}, ""},
      {"getrandom", {pointer, 8, 1}, {}, "buf=0x7ffc0010, len=8, flags=GRND_NONBLOCK"},
      {"seccomp",
       {1, 1, pointer},
       {},
       "op=SECCOMP_SET_MODE_FILTER, flags=SECCOMP_FILTER_FLAG_TSYNC, uargs=0x7ffc0010"},
      {"bpf", {5, pointer, 144}, {}, "cmd=BPF_PROG_LOAD, attr=0x7ffc0010, size=144"},
      {"shmget", {0, 4096, 01600}, {}, "key=0, size=4096, shmflg=IPC_CREAT|0600"},
      {"setresuid", {minus_one, 0, 1000}, {}, "ruid=-1, euid=0, suid=1000"},
  };
  for (const Golden& each : cases)
    EXPECT_EQ(decode(each.name, each.values, each.texts), each.expected);
}

TEST(Arguments, OfSocketAndPollingCalls) {
  const Golden cases[] = {
      {"socket",
       {2, 0x80001, 6},
       {},
       "domain=AF_INET, type=SOCK_STREAM|SOCK_CLOEXEC, protocol=IPPROTO_TCP"},
      {"socket",
       {16, 3, 15},
       {},
       "domain=AF_NETLINK, type=SOCK_RAW, protocol=NETLINK_KOBJECT_UEVENT"},
      {"socket", {1, 0x802, 0}, {}, "domain=AF_UNIX, type=SOCK_DGRAM|SOCK_NONBLOCK, protocol=0"},
      {"connect", {3, pointer, 16}, {}, "fd=3, addr=0x7ffc0010, addrlen=16"},
      {"accept4",
       {3, 0, 0, 0x80800},
       {},
       "fd=3, addr=NULL, addrlen=NULL, flags=SOCK_CLOEXEC|SOCK_NONBLOCK"},
      {"sendto",
       {3, pointer, 5, 0x4000, 0, 0},
       {},
       "fd=3, buf=0x7ffc0010, len=5, flags=MSG_NOSIGNAL, addr=NULL, addrlen=0"},
      {"recvmsg",
       {3, pointer, 0x40000040},
       {},
       "fd=3, msg=0x7ffc0010, flags=MSG_DONTWAIT|MSG_CMSG_CLOEXEC"},
      {"setsockopt",
       {3, 1, 2, pointer, 4},
       {},
       "fd=3, level=SOL_SOCKET, optname=SO_REUSEADDR, optval=0x7ffc0010, optlen=4"},
      {"setsockopt",
       {3, 6, 1, pointer, 4},
       {},
       "fd=3, level=SOL_TCP, optname=TCP_NODELAY, optval=0x7ffc0010, optlen=4"},
      {"getsockopt",
       {3, 41, 26, pointer, pointer},
       {},
       "fd=3, level=SOL_IPV6, optname=IPV6_V6ONLY, optval=0x7ffc0010, optlen=0x7ffc0010"},
      {"getsockopt",
       {3, 999, 26, 0, 0},
       {},
       "fd=3, level=0x3e7, optname=26, optval=NULL, optlen=NULL"},
      {"shutdown", {3, 1}, {}, "fd=3, how=SHUT_WR"},
      {"epoll_ctl", {4, 1, 5, pointer}, {}, "epfd=4, op=EPOLL_CTL_ADD, fd=5, event=0x7ffc0010"},
      {"epoll_wait",
       {4, pointer, 64, minus_one},
       {},
       "epfd=4, events=0x7ffc0010, maxevents=64, timeout=-1"},
      {"epoll_create1", {0x80000}, {}, "flags=EPOLL_CLOEXEC"},
      {"poll", {pointer, 2, 1000}, {}, "fds=0x7ffc0010, nfds=2, timeout=1000"},
      {"eventfd2", {0, 0x80801}, {}, "count=0, flags=EFD_SEMAPHORE|EFD_CLOEXEC|EFD_NONBLOCK"},
      {"io_uring_enter",
       {4, 1, 1, 1, 0, 8},
       {},
       "fd=4, to_submit=1, min_complete=1, flags=IORING_ENTER_GETEVENTS, argp=NULL, argsz=8"},
  };
  for (const Golden& each : cases)
    EXPECT_EQ(decode(each.name, each.values, each.texts), each.expected);
}

TEST(Arguments, OfOtherAbis) {
  EXPECT_EQ(decode("open", {0xffffffff00000010, 0, 0}, {"a"}, ABI_COMPAT),
            "pathname=\"a\", flags=O_RDONLY");
  EXPECT_EQ(decode("_llseek", {3, 1, 0x10, pointer, 0}, {}, ABI_COMPAT),
            "fd=3, offset_high=0x1, offset_low=0x10, result=0x7ffc0010, whence=SEEK_SET");
  EXPECT_EQ(decode("lseek", {3, 0xfffffff8, 1}, {}, ABI_COMPAT),
            "fd=3, offset=-8, whence=SEEK_CUR");
  EXPECT_EQ(decode("socketcall", {3, pointer}, {}, ABI_COMPAT),
            "call=SYS_CONNECT, args=0x7ffc0010");
  EXPECT_EQ(decode("chown", {0, 0xffff, 5}, {"f"}, ABI_COMPAT), "pathname=\"f\", user=-1, group=5");
  EXPECT_EQ(decode("read", {minus_one, minus_one, minus_one}, {}, ABI_COMPAT),
            "fd=-1, buf=0xffffffff, count=4294967295");
  EXPECT_EQ(decode("ioctl", {1, 0x5401, pointer}, {}, ABI_X32), "fd=1, cmd=TCGETS, arg=0x7ffc0010");
}

TEST(Arguments, OfUnknownCallsAreRegisters) {
  ArgumentDecoder decoder;
  EXPECT_EQ(join(decoder.decode(make_call(ABI_NATIVE, 999, {1, 0xff, 0, 4, 5, minus_one}), {})),
            "arg0=0x1, arg1=0xff, arg2=0, arg3=0x4, arg4=0x5, arg5=0xffffffffffffffff");
  EXPECT_EQ(decoder.decode(make_call(9, 0, {}), {}).size(), 6u);
}

TEST(Arguments, TextIsQuotedAndEscaped) {
  EXPECT_EQ(decode("unlink", {1}, {"a\"b\\c\n\x1b[2J"}), R"(pathname="a\"b\\c\n\x1b[2J")");
  EXPECT_EQ(decode("unlink", {1}, {"naïve"}), "pathname=\"naïve\"");
  EXPECT_EQ(decode("unlink", {1}, {"\xff\xc3"}), R"(pathname="\xff\xc3")");
  EXPECT_EQ(decode("unlink", {1}, {"/long"}, ABI_NATIVE, 1), "pathname=\"/long\"…");
  EXPECT_EQ(decode("rename", {1, 2}, {"a", "b"}, ABI_NATIVE, 2), "oldpath=\"a\", newpath=\"b\"…");
}

TEST(Arguments, TextThatWasNotReadIsAPointer) {
  EXPECT_EQ(decode("unlink", {0x10}), "pathname=0x10");
  EXPECT_EQ(decode("unlink", {0}), "pathname=NULL");
  syscall_call call =
      make_call(ABI_NATIVE, 82, {0x10, 0x20});  // rename, of which only the second could be read
  call.text_arguments = 2;
  call.text_size = 2;
  const std::string bytes("b", 2);
  ArgumentDecoder decoder;
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(bytes)))),
            "oldpath=0x10, newpath=\"b\"");
}

TEST(Arguments, HostileTextStaysInBounds) {
  ArgumentDecoder decoder;
  syscall_call call = make_call(ABI_NATIVE, 82, {1, 2});
  call.text_arguments = 0xff;
  call.text_size = 65535;
  EXPECT_EQ(join(decoder.decode(call, {})), "oldpath=0x1, newpath=0x2") << "no bytes at all";
  // On the heap and exactly as long as it is, so that the sanitizer sees a read beyond its end.
  const std::vector<char> unterminated = {'a', 'b'};
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(unterminated)))),
            "oldpath=\"ab\"…, newpath=0x2");
  const std::vector<char> one = {'a', '\0'};
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(one)))),
            "oldpath=\"a\", newpath=0x2");
  call.text_size = 1;
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(one)))),
            "oldpath=\"a\"…, newpath=0x2");
  call.text_size = 65535;
  const std::vector<char> zeros(65535, '\0');
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(zeros)))),
            "oldpath=\"\", newpath=\"\"");
  const std::vector<char> noise(65535, '\x1b');
  EXPECT_EQ(decoder.decode(call, std::as_bytes(std::span(noise))).size(), 2u);
  call.nr = 0;  // read has no string, whatever the record says: a string is still shown as one
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(one)))),
            "fd=\"a\", buf=0x2, count=0");
}

TEST(Arguments, EveryCallDecodesAnyRegisters) {
  ArgumentDecoder decoder;
  for (std::uint16_t abi = 0; abi <= ABI_COUNT; ++abi)
    for (std::uint32_t nr = 0; nr < 1100; ++nr)
      for (const std::uint64_t bits : Values{0, minus_one, 1ull << 63, 0x8000000080000000ull,
                                             0x7fffffff7fffffffull, 0x5555555555555555ull}) {
        const auto call = make_call(abi, nr, Values(SYSCALL_ARGUMENTS, bits));
        for (const std::string_view argument : decoder.decode(call, {})) {
          const auto equals = argument.find('=');
          ASSERT_NE(equals, std::string_view::npos) << abi << " " << nr;
          EXPECT_GT(argument.size(), equals + 1) << abi << " " << nr << " " << argument;
          EXPECT_GT(equals, 0u) << abi << " " << nr;
        }
      }
}

TEST(Arguments, ViewsHoldUntilTheNextCall) {
  ArgumentDecoder decoder;
  const std::string text = std::string(255, 'x') + '\0' + std::string(255, 'y') + '\0';
  syscall_call call = make_call(ABI_NATIVE, 82, {1, 2});
  call.text_arguments = 3;
  call.text_size = 512;
  const auto views = decoder.decode(call, std::as_bytes(std::span(text)));
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0], "oldpath=\"" + std::string(255, 'x') + "\"");
  EXPECT_EQ(views[1], "newpath=\"" + std::string(255, 'y') + "\"");
}

}  // namespace
}  // namespace overdue
