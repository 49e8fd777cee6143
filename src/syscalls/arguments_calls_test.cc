// Arguments of the other families of calls.
#include "syscalls/arguments_fixture.h"

namespace overdue {
namespace {

constexpr Golden process_calls[] = {
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
    {"mprotect", {pointer, 4096, 5}, {}, "addr=0x7ffc0010, length=4096, prot=PROT_READ|PROT_EXEC"},
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
    {"bpf", {5, pointer, 152, 99, 98}, {}, "cmd=BPF_PROG_LOAD, attr=0x7ffc0010, size=152"},
    {"bpf",
     {0x10005, pointer, 152, pointer, 24},
     {},
     "cmd=BPF_PROG_LOAD|BPF_COMMON_ATTRS, attr=0x7ffc0010, size=152, attr_common=0x7ffc0010, "
     "size_common=24"},
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
    {"prctl", {38, 1, 0, 0, 0}, {}, "option=PR_SET_NO_NEW_PRIVS, arg2=0x1, arg3=0, arg4=0, arg5=0"},
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

TEST(Arguments, OfMemoryProcessAndSignalCalls) {
  expect_decoded(process_calls);
}

constexpr Golden socket_calls[] = {
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

TEST(Arguments, OfSocketAndPollingCalls) {
  expect_decoded(socket_calls);
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

}  // namespace
}  // namespace overdue
