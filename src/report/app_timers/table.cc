#include "report/app_timers/table.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "analysis/throttle_words.h"
#include "base/text.h"
#include "resolve/kernel_stacks.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

std::uint64_t between(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/// The kind of a timer, by its kernel function; empty: a sleep or the timeout of a call.
std::string kind_of_timer(const std::string& function) {
  if (function == "hrtimer_wakeup") return {};
  if (function.starts_with("timerfd_")) return "timerfd";
  if (function == "posix_timer_fn") return "POSIX timer";
  if (function == "it_real_fn") return "interval timer";
  return function;
}

}  // namespace

std::uint64_t latency_in(const app_timer& timer, TimerContext context) {
  switch (context) {
    case TimerContext::irq:
      return between(timer.expires_ns, timer.irq_ns);
    case TimerContext::thread:
      return between(timer.expires_ns, timer.run_ns);
    case TimerContext::user:
      return between(timer.expires_ns, timer.header.time_ns);
  }
  return 0;
}

LateTimer take_apart_timer(const Record& record) {
  LateTimer late;
  const auto timer = late.timer = record.as<app_timer>();
  late.latency_ns = latency_in(timer, TimerContext::user);
  const std::uint64_t irq_ns = latency_in(timer, TimerContext::irq);
  const std::uint64_t slack_ns = std::min<std::uint64_t>(irq_ns, timer.slack_ns);
  const auto part = [&](ShareKind kind, std::uint64_t ns) {
    if (ns > 0) late.parts.of(kind).ns = ns;
  };
  part(ShareKind::slack, slack_ns);
  part(ShareKind::irq_delay, irq_ns - slack_ns);
  part(ShareKind::handler, between(timer.irq_ns, timer.wake_ns));
  const bool kept_behind = timer.flags & APP_TIMER_KEPT;
  std::uint64_t queue_ns = between(timer.wake_ns, timer.run_ns);
  std::uint64_t return_ns = between(timer.run_ns, timer.header.time_ns);
  std::uint64_t& kept_ns = kept_behind ? return_ns : queue_ns;
  const std::uint64_t throttled_ns = std::min<std::uint64_t>(kept_ns, timer.throttled_ns);
  kept_ns -= throttled_ns;
  if (queue_ns > 0) {
    Share& queue =
        late.parts.of(ShareKind::runqueue, timer.behind_tid, std::string(fixed_text(timer.behind)));
    queue.ns = queue_ns;
    queue.ran_ns = std::min<std::uint64_t>(queue_ns, timer.behind_ns);
  }
  part(ShareKind::throttled, throttled_ns);
  part(ShareKind::way_back, return_ns);
  const std::size_t frames = std::min<std::size_t>(
      timer.kernel_frames, (record.bytes.size() - std::min(record.bytes.size(), sizeof timer)) / 8);
  late.addresses.resize(frames);
  if (frames > 0)
    std::memcpy(late.addresses.data(), record.bytes.data() + sizeof timer, 8 * frames);
  return late;
}

std::string AppTimersTable::timer_name(const app_timer& timer, const Names& names) {
  const Stack function = untraced_stack(stacks_, std::array{std::uint64_t{timer.function}});
  const std::string kind = kind_of_timer(function.empty() || function[0].name.empty()
                                             ? fmt::format("{:#x}", timer.function)
                                             : function[0].name);
  if (timer.nr == NO_SYSCALL) return kind.empty() ? "[unknown call]" : kind;
  const std::uint16_t abi = timer.flags & APP_TIMER_COMPAT ? ABI_COMPAT : ABI_NATIVE;
  const std::string call = syscall_name(abi, timer.nr, names);
  return kind.empty() ? call : fmt::format("{} ({})", call, kind);
}

LateTimer AppTimersTable::add(const Record& record, const Names& names) {
  LateTimer late = take_apart_timer(record);
  const app_timer& timer = late.timer;
  if (throttle_ && throttle_->header.tid == timer.header.tid &&
      throttle_->header.time_ns == timer.header.time_ns)
    late.throttle = throttle_in(*throttle_);
  throttle_.reset();
  const Key key(timer.header.tid, timer.function, timer.nr, timer.flags & APP_TIMER_COMPAT);
  const auto [found, is_new] = rows_.try_emplace(key);
  AppTimerRow& row = found->second;
  if (is_new) row.timer = timer_name(timer, names);
  late.name = row.timer;
  row.pid = timer.header.pid;
  row.tid = timer.header.tid;
  row.comm = fixed_text(timer.header.comm);
  for (const TimerContext context : timer_contexts)
    row.latencies[index_of(context)].add(latency_in(timer, context));
  if (is_new || late.latency_ns > row.latest.latency_ns) {
    row.latest = late;
    name_stack(row.latest);
  }
  return late;
}

void AppTimersTable::name_stack(LateTimer& late) {
  late.stack = untraced_stack(stacks_, late.addresses);
}

std::vector<AppTimerRow> AppTimersTable::rows() const {
  std::vector<AppTimerRow> rows;
  for (const auto& [key, row] : rows_) rows.push_back(row);
  std::ranges::sort(rows, [](const AppTimerRow& a, const AppTimerRow& b) {
    return std::tie(b.latest.latency_ns, a.tid, a.timer) <
           std::tie(a.latest.latency_ns, b.tid, b.timer);
  });
  return rows;
}

}  // namespace overdue
