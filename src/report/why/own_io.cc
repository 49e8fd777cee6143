#include "report/why/own_io.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "syscalls/wait_reasons.h"

namespace overdue {
namespace {

bool is_io_call(std::string_view name) {
  return name == "io_getevents" || name == "io_pgetevents" || name == "io_uring_enter";
}

/// The time in which the process of one thread waited for I/O, short waits included; 0: it also
/// waits for other events.
std::uint64_t all_waits_of(std::uint32_t pid, const WhyFindings& found) {
  for (const LatencyRow& call : found.calls.rows)
    if (call.process && call.process->pid == pid && !is_io_call(call.name) &&
        wait_reason_of_call(call.name) == REASON_EVENTS)
      return 0;
  std::uint64_t ns = 0;
  for (const OffcpuRow& thread : found.threads)
    if (thread.pid == pid) ns += thread.reason_ns[REASON_EVENTS];
  return ns;
}

}  // namespace

void add_own_io(const WhyFindings& found, WhyFigures& figures) {
  std::map<std::uint32_t, std::uint64_t> threads_of;  // by pid
  for (const OffcpuRow& thread : found.threads) threads_of[thread.pid] += thread.threads;
  const auto is_of_one_thread = [&](const WhyCause& wait) {
    return wait.example && wait.waiters.size() == 1 && wait.who.size() == 1 &&
           is_io_call(wait.example->name) && threads_of[*wait.waiters.begin()] == 1;
  };
  std::vector<WhyCause>& undecided = figures.undecided;
  for (;;) {
    const auto wait = std::ranges::find_if(undecided, [&](const WhyCause& one) {
      return one.cause.starts_with("disk ") && is_of_one_thread(one);
    });
    if (wait == undecided.end()) return;
    WhyCause cause = std::move(*wait);
    undecided.erase(wait);
    if (const std::uint64_t all_ns = all_waits_of(*cause.waiters.begin(), found); all_ns > 0) {
      cause.total_ns = cause.who.front().ns = all_ns;
      std::erase_if(undecided, [&](const WhyCause& one) {
        return is_of_one_thread(one) && one.waiters == cause.waiters;
      });
    }
    figures.causes.push_back(std::move(cause));
  }
}

}  // namespace overdue
