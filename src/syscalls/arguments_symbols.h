#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace overdue {

struct Symbol {
  std::uint64_t value;
  std::string_view name;
};

/// The names of one argument's values: bits to be or-ed, one of several values, or both (open's
/// flags: an access mode in the low two bits, single bits above).
struct Symbols {
  static constexpr std::uint64_t choice = ~0ull;
  static constexpr std::uint64_t narrow = 0xffffffff;
  static constexpr std::uint64_t wide = ~0ull;

  std::span<const Symbol>
      values;                 ///< the choices, then the bits; bits that contain others come first
  std::uint64_t choice_bits;  ///< bits of the argument that are one number; `choice`: all
  std::uint64_t used_bits = narrow;  ///< an int has 32, whatever else is in the register
};

extern const Symbols access_mode;
extern const Symbols at_flags;
extern const Symbols at_access_flags;
extern const Symbols unlink_flags;
extern const Symbols execveat_flags;
extern const Symbols handle_flags;
extern const Symbols open_flags;
extern const Symbols descriptor_flags;
extern const Symbols pipe_flags;
extern const Symbols epoll_create_flags;
extern const Symbols eventfd_flags;
extern const Symbols signalfd_flags;
extern const Symbols timerfd_create_flags;
extern const Symbols timerfd_settime_flags;
extern const Symbols timer_flags;
extern const Symbols inotify_flags;
extern const Symbols inotify_mask;
extern const Symbols fanotify_init_flags;
extern const Symbols fanotify_mark_flags;
extern const Symbols fanotify_mask;
extern const Symbols fcntl_command;
extern const Symbols fd_flags;
extern const Symbols seal_flags;
extern const Symbols lease_type;
extern const Symbols whence;
extern const Symbols flock_operation;
extern const Symbols fallocate_mode;
extern const Symbols fadvise_advice;
extern const Symbols sync_range_flags;
extern const Symbols splice_flags;
extern const Symbols rename_flags;
extern const Symbols rw_flags;
extern const Symbols statx_mask;
extern const Symbols xattr_flags;
extern const Symbols mount_flags;
extern const Symbols umount_flags;
extern const Symbols open_tree_flags;
extern const Symbols move_mount_flags;
extern const Symbols fsopen_flags;
extern const Symbols fsmount_flags;
extern const Symbols fspick_flags;
extern const Symbols fsconfig_command;
extern const Symbols mount_attributes;
extern const Symbols close_range_flags;
extern const Symbols memfd_flags;
extern const Symbols memory_protection;
extern const Symbols map_flags;
extern const Symbols remap_flags;
extern const Symbols msync_flags;
extern const Symbols mlock2_flags;
extern const Symbols mlockall_flags;
extern const Symbols memory_advice;
extern const Symbols memory_policy;
extern const Symbols memory_policy_flags;
extern const Symbols bind_policy_flags;
extern const Symbols pkey_rights;
extern const Symbols clone_bits;
extern const Symbols unshare_flags;
extern const Symbols wait_options;
extern const Symbols wait_kind;
extern const Symbols arch_prctl_option;
extern const Symbols prctl_option;
extern const Symbols ptrace_request;
extern const Symbols sched_policy;
extern const Symbols priority_kind;
extern const Symbols ioprio_kind;
extern const Symbols resource;
extern const Symbols usage_of;
extern const Symbols itimer;
extern const Symbols clock_id;
extern const Symbols signal_how;
extern const Symbols signal_name;
extern const Symbols pidfd_open_flags;
extern const Symbols pidfd_signal_flags;
extern const Symbols futex_command;
extern const Symbols futex2_flags;
extern const Symbols epoll_operation;
extern const Symbols socket_family;
extern const Symbols socket_type;
extern const Symbols accept_flags;
extern const Symbols internet_protocol;
extern const Symbols netlink_protocol;
extern const Symbols packet_protocol;
extern const Symbols message_flags;
extern const Symbols socket_call;
extern const Symbols shutdown_how;
extern const Symbols socket_level;
extern const Symbols socket_option;
extern const Symbols tcp_option;
extern const Symbols udp_option;
extern const Symbols ip_option;
extern const Symbols ipv6_option;
extern const Symbols netlink_option;
extern const Symbols ioctl_request;
extern const Symbols random_flags;
extern const Symbols ipc_flags;
extern const Symbols ipc_command;
extern const Symbols semaphore_command;
extern const Symbols message_queue_command;
extern const Symbols shm_flags;
extern const Symbols msg_receive_flags;
extern const Symbols bpf_command;
extern const Symbols perf_flags;
extern const Symbols seccomp_operation;
extern const Symbols seccomp_flags;
extern const Symbols userfaultfd_flags;
extern const Symbols membarrier_command;
extern const Symbols uring_enter_flags;
extern const Symbols swap_flags;
extern const Symbols module_flags;
extern const Symbols kexec_file_flags;
extern const Symbols landlock_rule;
extern const Symbols kcmp_type;
extern const Symbols keyctl_operation;
extern const Symbols rseq_flags;

}  // namespace overdue
