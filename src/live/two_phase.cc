#include "live/two_phase.h"

#include <filesystem>

#include "base/error.h"
#include "base/thread_rights.h"
#include "kernel/tracefs_events.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr std::string_view enter_prefix = "sys_enter_";

std::filesystem::path syscall_events() {
  return tracefs_events("syscalls");
}

constexpr std::string_view only_there_refusals_are_seen =
    "seccomp or a tracer may refuse calls of the target, and only there refused calls are seen";

/// The name of a call's own tracepoint on this kernel, or empty.
std::string tracepoint_of(u32 nr) {
  static const std::filesystem::path events = syscall_events();
  if (events.empty()) return {};
  const ReadRights rights;
  const auto found = find_tracepoint(events, syscall_name(ABI_NATIVE, nr, {}));
  return found ? found->substr(enter_prefix.size()) : std::string();
}

std::size_t syscall_tracepoints() {
  std::size_t count = 0;
  std::error_code error;
  const ReadRights rights;
  for (const auto& entry : std::filesystem::directory_iterator(syscall_events(), error))
    count += entry.is_directory(error);
  return count;
}

}  // namespace

std::string refusals_missed(Duration late_by) {
  return fmt::format("Calls refused in the first {} are missing", format_duration(late_by));
}

void TwoPhase::poll(KernelTime now) {
  const auto refusable_since = switched_ ? probe_.refusable_since() : std::nullopt;
  if (refusable_since)
    leave_second_phase(*refusable_since);
  else if (switched_)
    attach_if_possible(probe_.late());
  else if (why_stayed_.empty() && now >= switch_at_)
    enter_second_phase();
}

void TwoPhase::enter_second_phase() {
  if (syscall_events().empty())
    return stay("tracefs is not there (mount -t tracefs nodev /sys/kernel/tracing)");
  if (probe_.refusable_since()) return stay(std::string(only_there_refusals_are_seen));
  try {
    attach_discovered();
    __atomic_store_n(&membership_.control().phase, 2, __ATOMIC_SEQ_CST);
    wait_for_running_programs();  // new calls are late from here on; the calls found until now:
    attach_discovered();
  } catch (const Error& error) {  // the first phase goes on, without a loss
    return stay(error.what());
  }
  if (only_) attach_if_possible(*only_);  // few, and known before they are made
  probe_.detach_raw_exit();
  switched_ = true;
}

/// A seccomp filter or a tracer can refuse calls from now on.
void TwoPhase::leave_second_phase(KernelTime refusable_since) {
  try {
    probe_.attach_raw_exit();
  } catch (const Error& error) {
    return stay(fmt::format("calls that seccomp refuses are missing: {}", error.what()));
  }
  const Duration late_by = KernelClock::now() - refusable_since;
  __atomic_store_n(&membership_.control().phase, 0, __ATOMIC_SEQ_CST);
  wait_for_running_programs();  // calls that end at their own exit: see end_discovered_call()
  stay(fmt::format("{}. {}", only_there_refusals_are_seen, refusals_missed(late_by)));
}

void TwoPhase::stay(std::string why) {
  __atomic_store_n(&membership_.control().phase, 0, __ATOMIC_SEQ_CST);
  probe_.detach_call_exits();
  switched_ = false;
  why_stayed_ = std::move(why);
}

void TwoPhase::attach(u32 nr) {
  const std::string tracepoint = tracepoint_of(nr);
  if (tracepoint.empty())
    throw Error("{} has no tracepoint of its own on this kernel", syscall_name(ABI_NATIVE, nr, {}));
  probe_.attach_exit(nr, tracepoint);
  attached_.insert(nr);
}

void TwoPhase::attach_discovered() {
  const SyscallSet calls = probe_.discovered();
  if (calls[ABI_COMPAT].any() || calls[ABI_X32].any())
    throw Error("the target makes 32-bit or x32 calls, which have no tracepoints of their own");
  for (u32 nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr)
    if (calls[ABI_NATIVE][nr] && !attached_.contains(nr)) attach(nr);
}

void TwoPhase::attach_if_possible(const SyscallSet& calls) {
  for (u32 nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr) {
    if (!calls[ABI_NATIVE][nr] || attached_.contains(nr) || without_tracepoint_.contains(nr))
      continue;
    try {
      attach(nr);
    } catch (const Error&) {
      without_tracepoint_.insert(nr);
    }
  }
}

std::string TwoPhase::note() const {
  if (!why_stayed_.empty()) return "two-phase: stayed in the first phase: " + why_stayed_;
  if (!switched_)
    return "two-phase: the target ended during discovery; no call's own tracepoint was attached";
  return fmt::format(
      "two-phase: attached {} of {} tracepoints: the entry of every call, the exits of {} calls",
      1 + attached_.size(), syscall_tracepoints(), attached_.size());
}

}  // namespace overdue
