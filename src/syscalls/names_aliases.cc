#include "syscalls/names_aliases.h"

namespace overdue {
namespace {

struct Alias {
  std::string_view from;
  std::string_view to;
};

// Longest first: the first match is removed.
constexpr std::string_view kernel_prefixes[] = {
    "tracepoint:syscalls:sys_enter_",
    "tracepoint:syscalls:sys_exit_",
    "__ia32_compat_sys_",
    "__x32_compat_sys_",
    "__x64_compat_sys_",
    "syscalls:sys_enter_",
    "syscalls:sys_exit_",
    "__se_compat_sys_",
    "__do_compat_sys_",
    "sys_enter_",
    "compat_sys_",
    "__ia32_sys_",
    "__x64_sys_",
    "__x32_sys_",
    "__se_sys_",
    "__do_sys_",
    "sys_exit_",
    "ksys_",
    "SyS_",
    "sys_",
};

// Kernel function → native call. A renamed function has both names.
constexpr Alias native_functions[] = {
    {"newstat", "stat"},
    {"newfstat", "fstat"},
    {"newlstat", "lstat"},
    {"newuname", "uname"},
    {"umount", "umount2"},
    {"sendfile64", "sendfile"},
    {"sysctl", "_sysctl"},
    {"x32_rt_sigreturn", "rt_sigreturn"},
    {"rt_sigreturn_wrapper", "rt_sigreturn"},
};

// Kernel function → i386 call.
constexpr Alias compat_functions[] = {
    {"stat", "oldstat"},
    {"fstat", "oldfstat"},
    {"lstat", "oldlstat"},
    {"newstat", "stat"},
    {"newfstat", "fstat"},
    {"newlstat", "lstat"},
    {"x86_stat64", "stat64"},
    {"x86_fstat64", "fstat64"},
    {"x86_lstat64", "lstat64"},
    {"x86_fstatat", "fstatat64"},
    {"olduname", "oldolduname"},
    {"uname", "olduname"},
    {"newuname", "uname"},
    {"oldumount", "umount"},
    {"umount", "umount2"},
    {"mmap_pgoff", "mmap2"},
    {"old_mmap", "mmap"},
    {"ia32_mmap", "mmap"},
    {"x86_mmap", "mmap"},
    {"old_select", "select"},
    {"select", "_newselect"},
    {"old_readdir", "readdir"},
    {"old_getrlimit", "getrlimit"},
    {"getrlimit", "ugetrlimit"},
    {"llseek", "_llseek"},
    {"ia32_clone", "clone"},
    {"x86_clone", "clone"},
    {"x86_pread", "pread64"},
    {"x86_pwrite", "pwrite64"},
    {"ia32_pread64", "pread64"},
    {"ia32_pwrite64", "pwrite64"},
    {"x86_readahead", "readahead"},
    {"ia32_readahead", "readahead"},
    {"x86_truncate64", "truncate64"},
    {"x86_ftruncate64", "ftruncate64"},
    {"ia32_truncate64", "truncate64"},
    {"ia32_ftruncate64", "ftruncate64"},
    {"x86_fadvise64", "fadvise64"},
    {"x86_fadvise64_64", "fadvise64_64"},
    {"ia32_fadvise64", "fadvise64"},
    {"ia32_fadvise64_64", "fadvise64_64"},
    {"x86_sync_file_range", "sync_file_range"},
    {"ia32_sync_file_range", "sync_file_range"},
    {"x86_fallocate", "fallocate"},
    {"ia32_fallocate", "fallocate"},
    {"sysctl", "_sysctl"},
    {"futex", "futex_time64"},
    {"clock_gettime", "clock_gettime64"},
    {"clock_settime", "clock_settime64"},
    {"clock_adjtime", "clock_adjtime64"},
    {"clock_getres", "clock_getres_time64"},
    {"clock_nanosleep", "clock_nanosleep_time64"},
    {"timer_gettime", "timer_gettime64"},
    {"timer_settime", "timer_settime64"},
    {"timerfd_gettime", "timerfd_gettime64"},
    {"timerfd_settime", "timerfd_settime64"},
    {"utimensat", "utimensat_time64"},
    {"mq_timedsend", "mq_timedsend_time64"},
    {"mq_timedreceive", "mq_timedreceive_time64"},
    {"semtimedop", "semtimedop_time64"},
    {"sched_rr_get_interval", "sched_rr_get_interval_time64"},
};

// The i386 numbers of the 16-bit calls kept the plain names; their successors' names end in 32.
constexpr std::string_view compat_wide_ids[] = {
    "getuid",    "getgid", "geteuid",   "getegid",   "setreuid",  "setregid",  "getgroups",
    "setgroups", "fchown", "setresuid", "getresuid", "setresgid", "getresgid", "chown",
    "setuid",    "setgid", "setfsuid",  "setfsgid",  "lchown",
};
constexpr std::string_view compat_wide_names[] = {
    "getuid32",    "getgid32",    "geteuid32",   "getegid32", "setreuid32",
    "setregid32",  "getgroups32", "setgroups32", "fchown32",  "setresuid32",
    "getresuid32", "setresgid32", "getresgid32", "chown32",   "setuid32",
    "setgid32",    "setfsuid32",  "setfsgid32",  "lchown32",
};
static_assert(std::size(compat_wide_ids) == std::size(compat_wide_names));

// Names that people and C libraries use for a call, and names that the call may have on an ABI that
// does not know the first name.
constexpr Alias spoken_names[] = {
    {"newstat", "stat"},
    {"newfstat", "fstat"},
    {"newlstat", "lstat"},
    {"newuname", "uname"},
    {"umount", "umount2"},
    {"oldumount", "umount"},
    {"sendfile64", "sendfile"},
    {"_newselect", "select"},
    {"newselect", "_newselect"},
    {"sysctl", "_sysctl"},
    {"llseek", "_llseek"},
    {"_llseek", "lseek"},
    {"pread", "pread64"},
    {"pwrite", "pwrite64"},
    {"fstatat", "newfstatat"},
    {"fstatat", "fstatat64"},
    {"fstatat64", "newfstatat"},
    {"newfstatat", "fstatat64"},
    {"fadvise", "fadvise64"},
    {"posix_fadvise", "fadvise64"},
    {"fadvise64_64", "fadvise64"},
    {"mmap2", "mmap"},
    {"mmap_pgoff", "mmap"},
    {"ugetrlimit", "getrlimit"},
    {"prlimit", "prlimit64"},
    {"pselect", "pselect6"},
    {"waitpid", "wait4"},
    {"signal", "rt_sigaction"},
    {"sigaction", "rt_sigaction"},
    {"sigprocmask", "rt_sigprocmask"},
    {"sigreturn", "rt_sigreturn"},
    {"sigsuspend", "rt_sigsuspend"},
    {"sigpending", "rt_sigpending"},
    {"sigtimedwait", "rt_sigtimedwait"},
    {"sigqueue", "rt_sigqueueinfo"},
    {"_exit", "exit"},
    {"eaccess", "faccessat2"},
    {"fexecve", "execveat"},
    {"olduname", "uname"},
    {"oldstat", "stat"},
    {"oldfstat", "fstat"},
    {"oldlstat", "lstat"},
};

}  // namespace

std::string_view without_kernel_prefix(std::string_view name) {
  for (const std::string_view prefix : kernel_prefixes)
    if (name.size() > prefix.size() && name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

std::string_view name_of_kernel_function(std::uint16_t abi, std::string_view function) {
  if (abi != ABI_COMPAT) {
    for (const Alias& alias : native_functions)
      if (alias.from == function) return alias.to;
    return function;
  }
  for (const Alias& alias : compat_functions)
    if (alias.from == function) return alias.to;
  for (std::size_t i = 0; i < std::size(compat_wide_ids); ++i)
    if (compat_wide_ids[i] == function) return compat_wide_names[i];
  // The 32-bit time and 16-bit id variants kept the plain name.
  for (const std::string_view suffix : {"_time64", "_time32", "32", "16"}) {
    if (!function.ends_with(suffix) || function.size() == suffix.size()) continue;
    return suffix == "_time64" ? function : function.substr(0, function.size() - suffix.size());
  }
  return function;
}

std::vector<std::string_view> kernel_functions(std::string_view name) {
  std::vector<std::string_view> functions;
  for (const Alias& alias : native_functions)
    if (alias.to == name) functions.push_back(alias.from);
  return functions;
}

std::vector<std::string_view> other_names(std::string_view name) {
  std::vector<std::string_view> others;
  for (const Alias& alias : spoken_names)
    if (alias.from == name) others.push_back(alias.to);
  // stat64, getuid32, futex_time64: variants of one call that only narrow ABIs have.
  for (const std::string_view suffix : {"_time64", "64", "32", "16"})
    if (name.size() > suffix.size() && name.ends_with(suffix))
      others.push_back(name.substr(0, name.size() - suffix.size()));
  return others;
}

}  // namespace overdue
