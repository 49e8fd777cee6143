#include "analysis/explain.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/call_object.h"
#include "analysis/explain_cpu.h"
#include "analysis/span_words.h"
#include "analysis/throttle_words.h"
#include "analysis/waker_words.h"
#include "base/text.h"
#include "core/full_names.h"
#include "core/span_kinds.h"
#include "core/wait_names.h"

namespace overdue {
namespace {

constexpr std::size_t places_shown = 8;  // of a step of a chain

ThreadName thread_of(const event_header& header) {
  return {header.pid, header.tid, std::string(fixed_text(header.comm))};
}

std::string disk_of(const RawWaker& waker, std::string_view means) {
  return means == disk_completion ? waker.disk : "";
}

Waker waker_of(const RawWaker& raw, StackNamer& namer) {
  Stack stack = namer.kernel_stack(raw.stack);
  drop_tracing(stack);
  Waker waker{.context = context_text(raw),
              .is_thread = raw.context == WAKER_THREAD || ran_in_own_call(raw, stack),
              .stack = std::move(stack)};
  if (!waker.is_thread) {
    waker.interrupted = thread_of(raw.header);
    waker.means = interrupt_meaning(waker.stack);
    waker.disk = disk_of(raw, waker.means);
    return waker;
  }
  waker.thread = thread_of(raw.header);
  if (waker.thread.comm.empty()) waker.thread.comm = namer.thread_name(0, waker.thread.tid);
  return waker;
}

/// Threads that had the CPU while the thread of `raw` could run. For a short time on a CPU, only
/// the thread that ran last is known.
CpuShares shares_of(const RawWait& raw) {
  CpuShares all;
  for (const sched_runs& runs : raw.runs) {
    for (const sched_run& run : runs.runs)
      all.add({0, run.tid, std::string(fixed_text(run.comm))}, run.ns);
    all.others_ns += runs.others_ns;
  }
  if (raw.runs.empty() || raw.runs.back().header.time_ns < raw.in_ns()) {
    const std::string_view comm = fixed_text(raw.fixed.behind);
    all.add({0, raw.fixed.behind_tid, std::string(comm)}, raw.fixed.behind_ns);
  }
  return all;
}

std::optional<Throttle> throttle_of(const RawWait& raw) {
  if (!raw.throttle) return std::nullopt;
  return throttle_in(*raw.throttle);
}

StopSignal stop_signal_of(const stop_signal& raw) {
  StopSignal stop{.name = signal_text(raw.signal), .sender = {}};
  if (!raw.is_from_kernel) stop.sender = thread_of(raw.header);
  return stop;
}

SignalHandler handler_of(const signal_handler& raw) {
  const std::uint64_t begin_ns = std::min<std::uint64_t>(raw.begin_ns, raw.header.time_ns);
  return {signal_text(raw.signal), raw.header.time_ns - begin_ns};
}

ThreadName displacer_of(const RawWait& raw) {
  return {0, raw.fixed.displacer_tid, std::string(fixed_text(raw.fixed.displacer))};
}

Wait wait_of(const RawWait& raw, StackNamer& namer) {
  Wait wait;
  wait.ns = raw.length_ns();
  wait.runqueue_ns = raw.runqueue_ns();
  wait.throttled_ns = raw.throttled_ns();
  wait.state = wait_state_name(raw.fixed.state);
  wait.kernel_stack = namer.kernel_stack(raw.stack);
  if (raw.waker) wait.waker = waker_of(*raw.waker, namer);
  if (!wait.could_run())
    wait.means = stop_meaning(wait.kernel_stack, wait.waker ? wait.waker->stack : Stack());
  if (wait.means == stopped_by_signal && raw.stop) wait.stop = stop_signal_of(*raw.stop);
  if (wait.means == stopped_by_tracer && raw.fixed.displacer_tid != 0)
    wait.tracer = displacer_of(raw);
  if (raw.fixed.state == WAIT_PREEMPTED) wait.preempted_by = displacer_of(raw);
  wait.ran = shares_of(raw);
  wait.throttle = throttle_of(raw);
  return wait;
}

/// Leaves out a part that does not fit into the rest of `all_ns`. The parts of a damaged record may
/// have any value, but with what is unexplained they add up to `all_ns`.
Breakdown breakdown_of(const ledger_parts& parts, std::uint64_t throttled_ns,
                       std::uint64_t all_ns) {
  std::uint64_t left = all_ns;
  Breakdown result;
  for (const auto& [kind, ns] : {std::pair{ShareKind::sleeping, parts.sleeping_ns},
                                 {ShareKind::uninterruptible, parts.uninterruptible_ns},
                                 {ShareKind::runqueue, parts.runqueue_ns},
                                 {ShareKind::preempted, parts.preempted_ns},
                                 {ShareKind::throttled, throttled_ns},
                                 {ShareKind::oncpu, parts.oncpu_ns},
                                 {ShareKind::irq, parts.irq_ns},
                                 {ShareKind::softirq, parts.softirq_ns}}) {
    if (ns == 0 || ns > left) continue;
    left -= ns;
    result.of(kind).ns = ns;
  }
  result.unexplained_ns = left;
  return result;
}

WaitPlace place_of(const RawPlace& raw, StackNamer& namer) {
  WaitPlace place{.state = wait_state_name(raw.longest->fixed.state),
                  .ns = raw.ns,
                  .count = raw.count,
                  .kernel_stack = namer.kernel_stack(raw.longest->stack),
                  .blocked_ns = raw.blocked_ns,
                  .longest_ns = raw.longest_ns};
  for (const RawWait* wait : raw.whole) place.ran.add(shares_of(*wait));
  return place;
}

/// The limit that took most of a throttled time, if this is known; none: several took it.
std::optional<Throttle> throttle_of(const RawLedger& ledger) {
  std::map<std::pair<std::string, bool>, std::pair<std::uint64_t, Throttle>> limits;
  for (const RawPlace& place : ledger.places)
    for (const RawWait* wait : place.whole) {
      auto throttle = throttle_of(*wait);
      if (!throttle) continue;
      auto& [ns, limit] = limits[{throttle->cgroup, throttle->of_real_time}];
      ns += wait->throttled_ns();
      limit = std::move(*throttle);
    }
  const auto largest =
      std::ranges::max_element(limits, {}, [](const auto& limit) { return limit.second.first; });
  if (largest == limits.end() || largest->second.first < ledger.throttled_ns / 5 * 4)
    return std::nullopt;
  return largest->second.second;
}

void add_ledger(ChainLink& link, const RawLink& raw, StackNamer& namer) {
  if (!raw.ledger) return;
  if (!link.throttle && raw.ledger->throttled_ns > 0) link.throttle = throttle_of(*raw.ledger);
  link.during_ns = raw.during_ns;
  link.ledger = breakdown_of(raw.ledger->parts, raw.ledger->throttled_ns, raw.during_ns);
  const std::size_t count = std::min(raw.ledger->places.size(), places_shown);
  for (const RawPlace& place : std::span(raw.ledger->places).first(count))
    link.places.push_back(place_of(place, namer));
}

ChainLink link_of(const RawLink& raw, StackNamer& namer) {
  ChainLink link;
  link.is_thread = raw.is_thread;
  (link.is_thread ? link.thread : link.interrupted) = thread_of(raw.waker->header);
  link.is_cut = raw.is_cut;
  link.ns = raw.overlap_ns;
  if (!raw.is_thread) {
    link.what = context_text(*raw.waker);
    link.means = interrupt_meaning(namer.kernel_stack(raw.waker->stack));
    link.disk = disk_of(*raw.waker, link.means);
    link.is_root = true;
  } else if (raw.wait && raw.ledger) {
    link.what = raw.wait->could_run_all_along() ? wait_state_name(raw.wait->fixed.state) : "waited";
    link.throttle = throttle_of(*raw.wait);
    link.runqueue_ns = raw.runqueue_ns;
    for (const RawWait* wait : raw.ledger->places.front().whole) link.ran.add(shares_of(*wait));
    link.kernel_stack = namer.kernel_stack(raw.wait->stack);
    link.thread = thread_of(raw.wait->fixed.header);
  } else {
    link.what = "ran";
    link.is_root = !raw.is_cut;
    if (raw.ledger) link.ns = raw.ledger->parts.oncpu_ns;
  }
  if (raw.is_thread) link.on_cpu = cpu_places_of(raw.samples, namer);
  link.waking_stack = waking_stack_of(raw.waking, namer);
  add_ledger(link, raw, namer);
  return link;
}

/// The interrupt of a device that leaves its work to a thread means what that thread does.
void give_meaning(ChainLink& interrupt, const RawWaker& thread, StackNamer& namer) {
  const Stack stack = namer.kernel_stack(thread.stack);
  if (!interrupt.means.empty() || !is_interrupt_thread(stack)) return;
  interrupt.means = interrupt_meaning(stack);
  interrupt.disk = disk_of(thread, interrupt.means);
}

std::vector<ChainLink> chain_of(std::span<const RawLink> raw, StackNamer& namer) {
  std::vector<ChainLink> chain;
  for (const RawWaker* woken = nullptr; const RawLink& link : raw) {
    chain.push_back(link_of(link, namer));
    if (!link.is_thread && woken) give_meaning(chain.back(), *woken, namer);
    woken = link.waker;
  }
  return chain;
}

/// Takes the name, arguments and result of a system call from the call's own record.
class CallFields final : public FieldVisitor {
 public:
  explicit CallFields(Finding& finding) : finding_(finding) {}
  void number(std::string_view, std::uint64_t, Unit) override {}
  void result(std::string_view, std::int64_t value, std::string_view error) override {
    finding_.result = value;
    finding_.error = error;
  }
  void text(std::string_view name, std::string_view value) override {
    if (name == "name") finding_.name = value;
  }
  void list(std::string_view name, std::span<const std::string_view> values) override {
    if (name == "args") finding_.arguments.assign(values.begin(), values.end());
  }

 private:
  Finding& finding_;
};

/// The tracer in the present state "traced NAME[TID]" of an open call; the name may be any text.
std::optional<ThreadName> present_tracer(const span_record& span) {
  constexpr std::string_view traced = "traced ";
  const std::string_view text = fixed_text(span.text);
  const std::size_t open = text.rfind('[');
  if (!text.starts_with(traced) || open == text.npos || open < traced.size()) return std::nullopt;
  ThreadName tracer{.comm = std::string(text.substr(traced.size(), open - traced.size()))};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + open + 1, last, tracer.tid);
  if (error != std::errc() || end == last || *end != ']' || tracer.tid == 0) return std::nullopt;
  return tracer;
}

/// Present state of the thread of an open call: one of a fixed set of words, even if the record is
/// damaged.
std::string_view present_state(const span_record& span) {
  constexpr std::array<std::string_view, 7> states = {
      "running", "runqueue", "sleeping", "uninterruptible", "preempted", "throttled", "unknown"};
  const auto known = std::find(states.begin(), states.end(), fixed_text(span.text));
  return known != states.end() ? *known : "other";
}

/// Adds the wait in progress to the waits and places of the finding.
void explain_present(const RawStall& stall, Finding& finding) {
  const span_record& span = stall.span;
  const std::string_view state = finding.state = present_state(span);
  finding.is_older = span.flags & SPAN_OLDER;
  if (span.detail == 0 || state == "running") return;
  Wait wait;
  wait.ns = span.detail;
  const bool woken = state == "runqueue";
  wait.runqueue_ns = woken ? wait.ns : 0;
  if (state == "throttled") {
    wait.throttled_ns = wait.ns;
    if (stall.throttle) {
      wait.throttle = throttle_in(*stall.throttle);
      wait.throttled_ns = std::min<std::uint64_t>(wait.ns, stall.throttle->throttled_ns);
    }
  }
  wait.state = woken ? "sleeping" : state;
  wait.kernel_stack = finding.kernel_stack;
  if (!wait.could_run()) wait.means = stop_meaning(wait.kernel_stack, {});
  if (const auto tracer = present_tracer(span); tracer && state == "other") {
    if (wait.means.empty()) wait.means = stopped_by_tracer;
    if (wait.means == stopped_by_tracer) wait.tracer = tracer;
  }
  if (!wait.means.empty()) finding.state = wait.means;
  WaitPlace place{.state = wait.state,
                  .ns = wait.ns,
                  .count = 1,
                  .kernel_stack = wait.kernel_stack,
                  .blocked_ns = wait.blocked_ns(),
                  .longest_ns = wait.ns,
                  .longest = finding.waits.size()};
  const auto shorter = std::find_if(
      finding.places.begin(), finding.places.end(),
      [&place](const WaitPlace& other) { return other.blocked_ns <= place.blocked_ns; });
  finding.places.insert(shorter, std::move(place));
  finding.waits.push_back(std::move(wait));
}

/// Finds out where the thread that had the CPU longest in all `waits` was while it ran. The result
/// for all waits is stored in the wait with that thread's largest share.
void explain_runner(const RawStall& stall, StackNamer& namer, std::vector<Wait>& waits) {
  CpuShares all;
  for (const Wait& wait : waits) all.add(wait.ran);
  if (all.threads.empty() || !stall.cpu_samples) return;
  const auto& [runner, ns, unused] = all.threads.front();
  if (runner.tid == 0 || ns < stall.span.latency_ns / 10) return;
  std::vector<RawSample*> samples;
  CpuShare* most = nullptr;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const auto share =
        std::find_if(waits[i].ran.threads.begin(), waits[i].ran.threads.end(),
                     [tid = runner.tid](const CpuShare& one) { return one.thread.tid == tid; });
    if (share == waits[i].ran.threads.end()) continue;
    if (!most || most->ns < share->ns) most = &*share;
    const RawWait& raw = *stall.waits[i];
    const auto found = stall.cpu_samples->of(runner.tid, raw.ready_since_ns(), raw.in_ns());
    samples.insert(samples.end(), found.begin(), found.end());
  }
  if (most) most->on_cpu = cpu_places_of(samples, namer);
}

/// The time in which the CPU of a preempted thread idled: no thread kept this one from running.
/// 0 for a short part of the wait: a CPU takes a moment to come out of idle.
std::uint64_t idle_ns_of(const Wait& wait) {
  if (wait.state != "preempted") return 0;
  for (const CpuShare& share : wait.ran.threads)
    if (share.thread.tid == 0 && share.ns >= wait.ns / 20) return std::min(share.ns, wait.ns);
  return 0;
}

void move_idle_time(const std::vector<Wait>& waits, Breakdown& parts) {
  for (const Wait& wait : waits) {
    std::uint64_t& preempted_ns = parts.of(ShareKind::preempted).ns;
    const std::uint64_t ns = std::min(idle_ns_of(wait), preempted_ns);
    preempted_ns -= ns;
    parts.unexplained_ns += ns;
  }
}

void add_waits(const RawStall& stall, StackNamer& namer, Finding& finding) {
  for (const RawWait* wait : stall.waits) finding.waits.push_back(wait_of(*wait, namer));
  explain_runner(stall, namer, finding.waits);
  for (const RawPlace& raw : stall.places) {
    WaitPlace& place = finding.places.emplace_back(place_of(raw, namer));
    const auto longest = std::find(stall.waits.begin(), stall.waits.end(), raw.longest);
    place.longest = static_cast<std::size_t>(longest - stall.waits.begin());
  }
  finding.waits_forgotten = stall.waits_forgotten;
}

}  // namespace

void add_call(Finding& finding, const Record& call, const Names& names) {
  CallFields fields(finding);
  visit_record(call, names, fields);
}

Finding explain(const RawStall& stall, StackNamer& namer, const Names& names) {
  Finding finding;
  const span_record& span = stall.span;
  finding.type = span.flags & SPAN_OPEN ? "hang" : "stall";
  // The user stack comes first: its process may end at any moment. The kernel's symbols, which may
  // take seconds to read, remain available.
  if (!stall.user_stack.stack.empty()) {
    StackNamer::UserStack user =
        namer.user_stack(span.header.pid, stall.registers, stall.user_stack,
                         KernelTime(Duration(span.header.time_ns)));
    fold_unnamed(user.frames);
    finding.user_stack = std::move(user.frames);
    finding.user_stack_end = std::move(user.end);
  }
  describe_span(stall, namer, finding);
  finding.is_way_back = stall.is_way_back;
  if (stall.handler) finding.handler = handler_of(*stall.handler);
  if (span.span == SPAN_SYSCALL && !(span.flags & SPAN_OPEN)) finding.given_ns = span.detail;
  if (stall.call) add_call(finding, *stall.call, names);
  finding.latency_ns = span.latency_ns;
  if (stall.object) add_object(finding, *stall.object);
  finding.time = KernelTime(Duration(span.header.time_ns));
  describe_threads(stall, namer, finding);
  finding.cpu = span.header.cpu;
  finding.cgroup_id = span.header.cgroup_id;
  if (span.flags & SPAN_HAS_LEDGER)
    finding.breakdown = breakdown_of(span.ledger, span.throttled_ns, span.latency_ns);
  finding.on_cpu = cpu_places_of(stall.samples, namer);
  add_waits(stall, namer, finding);
  if (finding.breakdown) move_idle_time(finding.waits, *finding.breakdown);
  finding.kernel_stack = namer.kernel_stack(stall.kernel_stack);
  drop_tracing(finding.kernel_stack);
  // In spans of other kinds, `text` and `detail` are not the state of the thread.
  if (span.flags & SPAN_OPEN && span.span == SPAN_SYSCALL) explain_present(stall, finding);
  // A wait in progress has no waker yet.
  if (!finding.places.empty() && finding.places.front().longest < stall.waits.size())
    finding.chain = chain_of(stall.chain, namer);
  finding.cause = cause_of(finding);
  if (span.flags & SPAN_OPEN) finding.cause = "hang|" + finding.cause;
  give_full_names(finding, names);
  return finding;
}

}  // namespace overdue
