#include "resolve/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <initializer_list>
#include <memory>

#include "base/error.h"

namespace overdue::sandbox {
namespace {

constexpr int kept_number = 3;
constexpr int highest_capability = 63;

// Enters a directory and deletes it: it is empty, and nothing can be created in it.
void enter_empty_root() {
  for (const char* where : {"/tmp", "/dev/shm", "/run", "/var/tmp"}) {
    std::string path = std::string(where) + "/overdue-XXXXXX";
    if (!mkdtemp(path.data())) continue;
    const bool is_inside = chdir(path.c_str()) == 0;
    rmdir(path.c_str());
    if (!is_inside) continue;
    check_errno(chroot("."), "cannot give up the file system");
    return;
  }
  throw Error("cannot make an empty directory for the resolver: {}", errno_text(errno));
}

/// A container may lack such a user; there, 65534 stands for the owners that it does not know.
void become(uid_t user) {
  constexpr uid_t nobody = 65534;
  if (setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0) return;
  check_errno(setresgid(nobody, nobody, nobody), "cannot give up the resolver's group");
  check_errno(setresuid(nobody, nobody, nobody), "cannot give up the resolver's user");
}

void limit(__rlimit_resource_t what, rlim_t value) {
  const rlimit both{.rlim_cur = value, .rlim_max = value};
  check_errno(setrlimit(what, &both), "cannot limit the resolver");
}

/// Whether the process can change its user and its root. Root may have given up the capabilities
/// already.
bool may_become_another() {
  constexpr std::uint32_t needed = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_SYS_CHROOT;
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[2] = {};
  return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective & needed) == needed;
}

}  // namespace

uid_t unused_user() {
  constexpr uid_t first = 0x9000'0000, ids = 0x6000'0000;
  std::uint32_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random)
    throw Error("cannot choose the resolver's user: {}", errno_text(errno));
  return first + random % ids;
}

void leave_surroundings(Fd& kept) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM})
    ::signal(signal, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setsid();
  const Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {0, 1, 2})
    if (nowhere && (standard != 2 || !has_sanitizer)) dup2(nowhere.get(), standard);
  if (kept.get() != kept_number) {
    check_errno(dup3(kept.get(), kept_number, O_CLOEXEC), "cannot keep the resolver's connection");
    kept = Fd(kept_number);
  }
  check_errno(static_cast<int>(syscall(SYS_close_range, kept_number + 1, ~0u, 0)),
              "cannot close the resolver's descriptors");
}

void drop_privileges() {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  if (geteuid() == 0 && may_become_another()) {
    enter_empty_root();
    for (int capability = 0; capability <= highest_capability; ++capability)
      prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    check_errno(setgroups(0, nullptr), "cannot give up the resolver's groups");
    become(unused_user());
  }
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct none[2] = {};
  check_errno(static_cast<int>(syscall(SYS_capset, &header, none)),
              "cannot give up the resolver's capabilities");
  check_errno(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "cannot give up the resolver's rights");
  check_errno(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "cannot shut off the resolver");
}

// Called after the change of ids, which would clear PR_SET_PDEATHSIG.
void end_with(pid_t parent) {
  check_errno(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "cannot tie the resolver to us");
  if (getppid() != parent) _exit(0);
}

void set_limits(std::size_t memory_bytes, std::size_t files) {
  if (!has_sanitizer) limit(RLIMIT_AS, memory_bytes);
  limit(RLIMIT_NOFILE, files);
}

void forbid_system_calls() {
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(seccomp_init(SCMP_ACT_KILL_PROCESS),
                                                                seccomp_release);
  if (!filter) throw Error("cannot make the resolver's filter of system calls");
  const auto done = [](int result) {
    check(result, "cannot make the resolver's filter of system calls");
  };
  done(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  for (const int call :
       {SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(pread64),
        SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(munmap), SCMP_SYS(mremap),
        SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(futex), SCMP_SYS(clock_gettime),
        SCMP_SYS(getrandom), SCMP_SYS(rt_sigreturn), SCMP_SYS(exit), SCMP_SYS(exit_group)})
    done(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0));
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)})
    done(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 1,
                          SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)));
  // fstat() of glibc; any other path is looked up in an empty directory.
  done(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
                        SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0)));
  for (const int command : {F_DUPFD_CLOEXEC, F_GETFD})  // libelf asks whether a file is open
    done(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                          SCMP_A1(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command), 0)));
  // qsort() asks for the amount of memory.
  done(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(sysinfo), 0));
  // libdw asks for a file's path to find others beside it, and works without.
  for (const int call : {SCMP_SYS(readlink), SCMP_SYS(readlinkat)})
    done(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOENT), call, 0));
  if (has_sanitizer)
    for (const int call : {SCMP_SYS(sigaltstack), SCMP_SYS(gettid), SCMP_SYS(getpid),
                           SCMP_SYS(sched_yield), SCMP_SYS(rt_sigprocmask), SCMP_SYS(pipe2)})
      done(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0));
  done(seccomp_load(filter.get()));
}

}  // namespace overdue::sandbox
