#include "syscalls/arguments_context.h"

#include "syscalls/arguments_symbols.h"

namespace overdue {
namespace {

// Numbers of the x86 system call interface, as in arguments_symbols_*.cc.
enum : std::uint32_t {
  creates_file = 0x40,         // O_CREAT
  creates_unnamed = 0x400000,  // the bit of O_TMPFILE that is not O_DIRECTORY
  remap_fixed_or_unmap = 6,    // MREMAP_FIXED | MREMAP_DONTUNMAP
  common_attributes = 0x10000  // BPF_COMMON_ATTRS, since Linux 7.0
};

Argument as_kind(const Argument& argument, ArgumentKind kind) {
  return {argument.name, kind};
}

Argument fcntl_argument(const Argument& argument, std::uint32_t command) {
  switch (command) {
    case 0:     // F_DUPFD
    case 1030:  // F_DUPFD_CLOEXEC
    case 1027:  // F_DUPFD_QUERY
    case 8:     // F_SETOWN
    case 1031:  // F_SETPIPE_SZ
      return as_kind(argument, ArgumentKind::signed_int);
    case 2:
      return {argument.name, fd_flags};
    case 4:
      return {argument.name, open_flags};
    case 10:
      return as_kind(argument, ArgumentKind::signal_number);
    case 1024:
      return {argument.name, lease_type};
    case 1033:
      return {argument.name, seal_flags};
    case 1:     // F_GETFD
    case 3:     // F_GETFL
    case 9:     // F_GETOWN
    case 11:    // F_GETSIG
    case 1025:  // F_GETLEASE
    case 1028:  // F_CREATED_QUERY
    case 1032:  // F_GETPIPE_SZ
    case 1034:  // F_GET_SEALS
      return {};
    default:
      return as_kind(argument, ArgumentKind::hex);
  }
}

enum FutexCommand : std::uint32_t {
  futex_wait = 0,
  futex_requeue = 3,
  futex_cmp_requeue = 4,
  futex_wake_op = 5,
  futex_lock_pi = 6,
  futex_wait_bitset = 9,
  futex_wake_bitset = 10,
  futex_wait_requeue_pi = 11,
  futex_cmp_requeue_pi = 12,
  futex_lock_pi2 = 13,
};

Argument futex_argument(const Argument& argument, std::uint32_t operation) {
  const std::uint32_t command = operation & 0x7f;
  const bool requeues = command == futex_requeue || command == futex_cmp_requeue ||
                        command == futex_wake_op || command == futex_cmp_requeue_pi;
  const bool waits = command == futex_wait || command == futex_lock_pi ||
                     command == futex_wait_bitset || command == futex_wait_requeue_pi ||
                     command == futex_lock_pi2;
  if (argument.kind == ArgumentKind::futex_timeout) {
    if (requeues)
      return {"val2", ArgumentKind::unsigned_int};  // the register holds a second count instead
    return waits ? as_kind(argument, ArgumentKind::address) : Argument();
  }
  if (argument.kind == ArgumentKind::futex_address2)
    return requeues || command == futex_wait_requeue_pi ? as_kind(argument, ArgumentKind::address)
                                                        : Argument();
  if (command == futex_cmp_requeue || command == futex_cmp_requeue_pi)
    return as_kind(argument, ArgumentKind::unsigned_int);
  if (command == futex_wake_op || command == futex_wait_bitset || command == futex_wake_bitset)
    return as_kind(argument, ArgumentKind::hex32);
  return {};
}

/// Number of arguments behind the option that prctl reads; all four for an unknown option.
unsigned prctl_argument_count(std::uint32_t option) {
  switch (option) {
    case 3:   // PR_GET_DUMPABLE
    case 7:   // PR_GET_KEEPCAPS
    case 21:  // PR_GET_SECCOMP
    case 27:  // PR_GET_SECUREBITS
    case 30:  // PR_GET_TIMERSLACK
    case 31:  // PR_TASK_PERF_EVENTS_DISABLE
    case 32:  // PR_TASK_PERF_EVENTS_ENABLE
      return 0;
    case 1:           // PR_SET_PDEATHSIG
    case 2:           // PR_GET_PDEATHSIG
    case 4:           // PR_SET_DUMPABLE
    case 8:           // PR_SET_KEEPCAPS
    case 15:          // PR_SET_NAME
    case 16:          // PR_GET_NAME
    case 23:          // PR_CAPBSET_READ
    case 24:          // PR_CAPBSET_DROP
    case 26:          // PR_SET_TSC
    case 28:          // PR_SET_SECUREBITS
    case 29:          // PR_SET_TIMERSLACK
    case 36:          // PR_SET_CHILD_SUBREAPER
    case 0x59616d61:  // PR_SET_PTRACER
      return 1;
    case 22:  // PR_SET_SECCOMP
      return 2;
    default:
      return 4;
  }
}

Argument prctl_argument(const Argument& argument, unsigned index, std::uint32_t option) {
  if (index > prctl_argument_count(option)) return {};
  if (option == 1) return as_kind(argument, ArgumentKind::signal_number);
  return as_kind(argument, ArgumentKind::hex);
}

Argument socket_protocol(const Argument& argument, std::uint32_t domain) {
  switch (domain) {
    case 2:   // AF_INET
    case 10:  // AF_INET6
      return {argument.name, internet_protocol};
    case 16:
      return {argument.name, netlink_protocol};
    case 17:
      return {argument.name, packet_protocol};
    default:
      return as_kind(argument, ArgumentKind::signed_int);
  }
}

Argument socket_option_of_level(const Argument& argument, std::uint32_t level) {
  switch (level) {
    case 0:
      return {argument.name, ip_option};
    case 1:
      return {argument.name, socket_option};
    case 6:
      return {argument.name, tcp_option};
    case 17:
      return {argument.name, udp_option};
    case 41:
      return {argument.name, ipv6_option};
    case 270:
      return {argument.name, netlink_option};
    default:
      return as_kind(argument, ArgumentKind::signed_int);
  }
}

}  // namespace

Argument argument_in_context(const Argument& argument, unsigned index, const Registers& registers) {
  const auto first = static_cast<std::uint32_t>(registers[0]);
  const auto second = static_cast<std::uint32_t>(registers[1]);
  switch (argument.kind) {
    case ArgumentKind::open_mode:
      return registers[index - 1] & (creates_file | creates_unnamed)
                 ? as_kind(argument, ArgumentKind::mode)
                 : Argument();
    case ArgumentKind::fcntl_argument:
      return fcntl_argument(argument, second);
    case ArgumentKind::futex_timeout:
    case ArgumentKind::futex_address2:
    case ArgumentKind::futex_value3:
      return futex_argument(argument, second);
    case ArgumentKind::prctl_argument:
      return prctl_argument(argument, index, first);
    case ArgumentKind::remap_address:
      return registers[3] & remap_fixed_or_unmap ? as_kind(argument, ArgumentKind::address)
                                                 : Argument();
    case ArgumentKind::bpf_common_attributes:
      return first & common_attributes ? as_kind(argument, ArgumentKind::address) : Argument();
    case ArgumentKind::bpf_common_size:
      return first & common_attributes ? as_kind(argument, ArgumentKind::unsigned_int) : Argument();
    case ArgumentKind::socket_protocol:
      return socket_protocol(argument, first);
    case ArgumentKind::socket_option_of_level:
      return socket_option_of_level(argument, second);
    default:
      return argument;
  }
}

}  // namespace overdue
