#include "syscalls/wait_reasons.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "bpf/syscalls.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr std::pair<std::string_view, wait_reason> reasons[] = {
    {"nanosleep", REASON_SLEEP},
    {"clock_nanosleep", REASON_SLEEP},
    {"futex", REASON_FUTEX},
    {"futex_wait", REASON_FUTEX},
    {"futex_waitv", REASON_FUTEX},
    {"poll", REASON_EVENTS},
    {"ppoll", REASON_EVENTS},
    {"select", REASON_EVENTS},
    {"pselect6", REASON_EVENTS},
    {"epoll_wait", REASON_EVENTS},
    {"epoll_pwait", REASON_EVENTS},
    {"epoll_pwait2", REASON_EVENTS},
    {"io_getevents", REASON_EVENTS},
    {"io_pgetevents", REASON_EVENTS},
    {"io_uring_enter", REASON_EVENTS},
    {"read", REASON_INPUT},
    {"readv", REASON_INPUT},
    {"pread64", REASON_INPUT},
    {"preadv", REASON_INPUT},
    {"preadv2", REASON_INPUT},
    {"recvfrom", REASON_INPUT},
    {"recvmsg", REASON_INPUT},
    {"recvmmsg", REASON_INPUT},
    {"accept", REASON_INPUT},
    {"accept4", REASON_INPUT},
    {"msgrcv", REASON_INPUT},
    {"mq_timedreceive", REASON_INPUT},
    {"write", REASON_OUTPUT},
    {"writev", REASON_OUTPUT},
    {"pwrite64", REASON_OUTPUT},
    {"pwritev", REASON_OUTPUT},
    {"pwritev2", REASON_OUTPUT},
    {"sendto", REASON_OUTPUT},
    {"sendmsg", REASON_OUTPUT},
    {"sendmmsg", REASON_OUTPUT},
    {"sendfile", REASON_OUTPUT},
    {"splice", REASON_OUTPUT},
    {"connect", REASON_OUTPUT},
    {"msgsnd", REASON_OUTPUT},
    {"mq_timedsend", REASON_OUTPUT},
    {"wait4", REASON_CHILD},
    {"waitid", REASON_CHILD},
    {"pause", REASON_CHILD},
    {"vfork", REASON_CHILD},
    {"rt_sigsuspend", REASON_CHILD},
    {"rt_sigtimedwait", REASON_CHILD},
    {"flock", REASON_LOCK},
    {"fcntl", REASON_LOCK},
};

}  // namespace

wait_reason wait_reason_of_call(std::string_view call) {
  const auto* const found =
      std::ranges::find(reasons, call, [](const auto& of) { return of.first; });
  return found == std::end(reasons) ? REASON_OTHER : found->second;
}

std::vector<std::uint8_t> wait_reasons_of_calls() {
  std::vector<std::uint8_t> by_number(SYSCALL_TABLE_SIZE, REASON_OTHER);
  for (const auto& [name, reason] : reasons)
    if (const auto nr = syscall_number(ABI_NATIVE, name); nr && *nr < by_number.size())
      by_number[*nr] = reason;
  return by_number;
}

}  // namespace overdue
