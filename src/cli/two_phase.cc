#include "cli/two_phase.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "probes/syscalls/names.h"

namespace overdue {
namespace {

constexpr std::chrono::milliseconds attach_margin{30};
constexpr std::size_t watched_threads_max = 256;
constexpr std::string_view enter_prefix = "sys_enter_";

std::filesystem::path syscall_events() {
  for (const char* root : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    std::error_code error;
    const std::filesystem::path events = std::filesystem::path(root) / "events" / "syscalls";
    if (std::filesystem::is_directory(events, error)) return events;
  }
  return {};
}

/// The name of a call's own tracepoint on this kernel, or empty.
std::string tracepoint_of(u32 nr) {
  static const std::filesystem::path events = syscall_events();
  if (events.empty()) return {};
  for (const std::string& candidate : tracepoint_candidates(syscall_name(ABI_NATIVE, nr, {}))) {
    std::error_code error;
    if (std::filesystem::exists(events / candidate, error))
      return candidate.substr(enter_prefix.size());
  }
  return {};
}

std::size_t syscall_tracepoints() {
  std::size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(syscall_events(), error))
    count += entry.is_directory(error);
  return count;
}

/// The name a thread has now; a late call carries none.
void read_comm(u32 tid, char (&comm)[COMM_SIZE]) {
  std::ifstream file(fmt::format("/proc/{}/comm", tid));
  std::string name;
  std::getline(file, name);
  std::memcpy(comm, name.data(), std::min(name.size(), sizeof comm - 1));
}

}  // namespace

std::optional<std::string> TwoPhase::obstacle(const SyscallSet& discovered) const {
  if (syscall_events().empty())
    return "tracefs is not mounted (mount -t tracefs nodev /sys/kernel/tracing)";
  if (discovered[ABI_COMPAT].any() || discovered[ABI_X32].any())
    return "the target makes 32-bit or x32 calls, which have no tracepoints of their own";
  if (kind_ == TargetKind::name || kind_ == TargetKind::cgroup || kind_ == TargetKind::container)
    return "a target by name, cgroup or container can gain threads that only these hooks see";
  if (membership_.living().size() > watched_threads_max && kind_ != TargetKind::all)
    return fmt::format("more than {} threads are too many to watch for late calls",
                       watched_threads_max);
  return std::nullopt;
}

void TwoPhase::poll(KernelTime now, const LateHandler& handler) {
  if (!switched_ && !stayed_ && now >= switch_at_) enter_second_phase();
  if (switched_) look_for_late(handler);
}

void TwoPhase::enter_second_phase() {
  // Before the set is read: what comes from now on is late.
  __atomic_store_n(&membership_.control().phase, 2, __ATOMIC_SEQ_CST);
  SyscallSet discovered = probe_.discovered();
  if (const auto reason = obstacle(discovered)) {
    stay(*reason);
    return;
  }
  if (only_) discovered = *only_;  // few and known: attach them all, nothing can be late
  try {
    attach_all(discovered);
  } catch (const Error& error) {  // the first phase goes on: nothing is lost by it
    stay(error.what());
    return;
  }
  probe_.detach_raw();
  watched_from_ = KernelClock::now();
  switched_ = true;
}

void TwoPhase::attach_all(const SyscallSet& calls) {
  for (u32 nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr)
    if (calls[ABI_NATIVE][nr]) attach(nr, KernelTime{});
  if (!without_tracepoint_.empty())
    throw Error("{} has no tracepoint of its own on this kernel",
                syscall_name(ABI_NATIVE, *without_tracepoint_.begin(), {}));
  if (!only_) watch_ = make_watch();
}

void TwoPhase::stay(std::string why) {
  __atomic_store_n(&membership_.control().phase, 0, __ATOMIC_SEQ_CST);
  watch_.reset();
  probe_.detach_calls();
  stayed_ = true;
  why_stayed_ = std::move(why);
}

std::unique_ptr<LateWatch> TwoPhase::make_watch() const {
  const std::vector<u32> known(attached_.begin(), attached_.end());
  auto watch = std::make_unique<LateWatch>(kind_ == TargetKind::all, known);
  if (kind_ == TargetKind::all) return watch;
  // A thread started by one we had not come to yet is found by the next pass.
  std::set<u32> watched;
  for (bool found = true; found;) {
    found = false;
    for (const member& thread : membership_.living()) {
      if (!watched.insert(thread.tid).second) continue;
      watch->add_thread(thread.tid);
      found = watched.size() <= watched_threads_max;
    }
  }
  return watch;
}

void TwoPhase::attach(u32 nr, KernelTime from) {
  const std::string tracepoint = tracepoint_of(nr);
  if (tracepoint.empty()) {
    without_tracepoint_.insert(nr);
    return;
  }
  probe_.attach_call(nr, tracepoint, from);
  attached_.insert(nr);
  counted_from_[nr] = from;
}

void TwoPhase::look_for_late(const LateHandler& handler) {
  if (!watch_) return;
  attach_fresh(read_watch(KernelTime::max(), handler));
  if (renew_at_ != KernelTime{} && KernelClock::now() >= renew_at_) renew_watch(handler);
}

/// Counts what the watch has seen before `until`; returns the numbers that are new.
std::set<u32> TwoPhase::read_watch(KernelTime until, const LateHandler& handler) {
  std::set<u32> fresh;
  late_lost_ += watch_->poll([&](const LateWatch::LateCall& call) {
    if (call.time < watched_from_ || call.time >= until) return;  // another hook, or watch, had it
    const auto counted = counted_from_.find(call.nr);
    if (counted == counted_from_.end())
      fresh.insert(call.nr);
    else if (call.time >= counted->second)
      return;  // its own tracepoint has it
    event_header who{};
    who.time_ns = call.time.time_since_epoch().count();
    who.pid = call.pid;
    who.tid = call.tid;
    read_comm(call.tid, who.comm);
    ++late_calls_;
    handler(call.nr, who);
  });
  return fresh;
}

void TwoPhase::attach_fresh(const std::set<u32>& fresh) {
  if (fresh.empty()) return;
  const KernelTime from = KernelClock::now() + attach_margin;
  for (const u32 nr : fresh) {
    if (nr >= SYSCALL_TABLE_SIZE || without_tracepoint_.contains(nr)) continue;
    try {
      attach(nr, from);
    } catch (const Error&) {
      without_tracepoint_.insert(nr);  // it goes on being counted by the watch
    }
  }
  renew_at_ = from;
}

/// A watch that also leaves out what was attached since, or those calls would fill its buffers.
void TwoPhase::renew_watch(const LateHandler& handler) {
  renew_at_ = {};
  std::unique_ptr<LateWatch> next;
  try {
    next = make_watch();
  } catch (const Error&) {
    return;  // the old one still sees all; what overflows its buffers is counted
  }
  const KernelTime change = KernelClock::now();
  attach_fresh(read_watch(change, handler));
  watch_ = std::move(next);
  watched_from_ = change;
}

void TwoPhase::finish(const LateHandler& handler) {
  if (switched_) look_for_late(handler);
}

std::vector<std::string> TwoPhase::notes() const {
  if (stayed_) return {"two-phase: stayed with the hooks every call passes: " + why_stayed_};
  if (!switched_)
    return {"two-phase: the target ended during discovery; no call's own tracepoint was attached"};
  std::vector<std::string> notes{
      fmt::format("two-phase: attached {} of {} tracepoints for {} discovered calls",
                  2 * attached_.size(), syscall_tracepoints(), attached_.size())};
  if (late_calls_ > 0)
    notes.push_back(
        fmt::format("two-phase: {} calls came late and were counted, not timed", late_calls_));
  return notes;
}

}  // namespace overdue
