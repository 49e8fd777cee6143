#include "analysis/stall_assembler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "analysis/user_side.h"
#include "analysis/wait_places.h"
#include "analysis/window_ledger.h"
#include "base/text.h"
#include "bpf/user_stack.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

/// A chain follows a waker's waits only if they cover at least this share of the wait before.
constexpr std::uint64_t least_share = 10;  // a tenth

/// Largest share of a finding's time that may be unknown.
constexpr std::uint64_t unknown_share = 50;  // 2 %

/// `count` addresses at `offset`, or as many as the record has: a record from a file may be short.
std::vector<std::uint64_t> addresses_at(std::span<const std::byte> bytes, std::size_t offset,
                                        std::size_t count) {
  if (offset >= bytes.size()) return {};
  std::vector<std::uint64_t> addresses(std::min(count, (bytes.size() - offset) / 8));
  if (!addresses.empty())
    std::memcpy(addresses.data(), bytes.data() + offset, 8 * addresses.size());
  return addresses;
}

void take_user_side(RawStall& stall, const std::optional<UserSide>& side) {
  if (!side) return;
  stall.registers = side->registers;
  stall.user_stack = side->copy;
}

/// Whether the waits of the thread that ended a span explain the span.
bool lived_through(const span_record& span) {
  if (span.flags & SPAN_HAS_LEDGER || is_of_thread(span.span)) return true;
  // Any thread may end a user span that is still open.
  return span.span == SPAN_PAIR && !(span.flags & SPAN_OPEN) && span.begin_tid == span.header.tid;
}

/// Begin of the first recorded wait that ends after `begin_ns`. From then on, the thread's sums
/// account for all its time.
std::uint64_t first_known(const std::deque<RawWait>& waits, std::uint64_t begin_ns) {
  for (const RawWait& wait : waits)
    if (wait.in_ns() > begin_ns) return std::max(begin_ns, wait.out_ns());
  return begin_ns;
}

}  // namespace

void StallAssembler::take(const Record& record, const Record* stack) {
  switch (record.schema->id) {
    case RECORD_SCHED_WAIT:
      wait(record, stack);
      break;
    case RECORD_SCHED_WAKE:
      wake(record);
      break;
    case RECORD_SCHED_THROTTLE:
      thread_of(record.header().tid).throttle =
          std::make_unique<const sched_throttle>(record.as<sched_throttle>());
      break;
    case RECORD_STOP_SIGNAL:
      stop(record);
      break;
    case RECORD_SCHED_RUNS:
      runs(record);
      break;
    case RECORD_WAIT_PLACES:
      places(record);
      break;
    case RECORD_SIGNAL_HANDLER:
      thread_of(record.header().tid).handler = record.as<signal_handler>();
      break;
    case RECORD_CALL_OBJECT:
      thread_of(record.header().tid).object =
          std::make_unique<const call_object>(record.as<call_object>());
      break;
    case RECORD_SPAN:
      span(record);
      break;
    case RECORD_CPU_SAMPLE:
      samples_.take(record);
      break;
    case RECORD_SYSCALL_CALL: {
      Thread& thread = thread_of(record.header().tid);
      thread.call.assign(record.bytes.begin(), record.bytes.end());
      thread.call_schema = record.schema;
      break;
    }
    default:
      break;
  }
}

/// At the limit, drops the threads without waits, which explain nothing: most of them have ended.
StallAssembler::Thread& StallAssembler::thread_of(std::uint32_t tid) {
  if (threads_.size() >= limits_.threads && !threads_.contains(tid))
    std::erase_if(threads_, [](const auto& entry) { return entry.second.waits.empty(); });
  return threads_[tid];
}

void StallAssembler::wake(const Record& record) {
  const auto fixed = record.as<sched_wake>();
  Thread& thread = thread_of(fixed.wakee_tid);
  thread.woken_ns = fixed.header.time_ns;
  thread.waker = RawWaker{.header = fixed.header,
                          .context = fixed.context,
                          .number = fixed.number,
                          .irq_name = std::string(fixed_text(fixed.irq_name)),
                          .disk = std::string(fixed_text(fixed.disk)),
                          .stack = addresses_at(record.bytes, sizeof fixed, fixed.kernel_frames),
                          .sums = fixed.sums,
                          .throttled_sum_ns = fixed.throttled_sum_ns,
                          .ran_since_ns = fixed.ran_since_ns};
  if (fixed.ran_since_ns == 0) return;
  std::vector<RawSums>& wakes = thread_of(fixed.header.tid).wakes;
  if (wakes.size() >= limits_.wakes_of_a_thread) wakes.erase(wakes.begin());
  wakes.push_back({fixed.header.time_ns, fixed.sums, fixed.throttled_sum_ns});
}

void StallAssembler::stop(const Record& record) {
  stops_.push_back(record.as<stop_signal>());
  if (stops_.size() > limits_.stops) stops_.pop_front();
}

std::unique_ptr<const stop_signal> StallAssembler::stop_of(const sched_wait& wait) const {
  const auto sent = std::find_if(stops_.rbegin(), stops_.rend(), [&wait](const stop_signal& one) {
    return one.target_pid == wait.header.pid && one.header.time_ns <= wait.out_ns;
  });
  return sent == stops_.rend() ? nullptr : std::make_unique<const stop_signal>(*sent);
}

void StallAssembler::runs(const Record& record) {
  std::vector<sched_runs>& runs = thread_of(record.header().tid).runs;
  if (runs.size() >= limits_.runs_of_a_wait) runs.erase(runs.begin());
  runs.push_back(record.as<sched_runs>());
}

void StallAssembler::places(const Record& record) {
  auto fixed = std::make_unique<const wait_places>(record.as<wait_places>());
  thread_of(fixed->header.tid).places = std::move(fixed);
}

void StallAssembler::wait(const Record& record, const Record* stack) {
  RawWait wait;
  wait.id = ++last_id_;
  wait.fixed = record.as<sched_wait>();
  if (wait.fixed.out_ns > wait.in_ns()) return;  // from a damaged file
  wait.stack = addresses_at(record.bytes, sizeof(sched_wait), wait.fixed.kernel_frames);
  Thread& thread = thread_of(wait.fixed.header.tid);
  if (thread.waker && thread.woken_ns == wait.fixed.wake_ns) {
    wait.waker = std::move(thread.waker);
  } else if (wait.fixed.waker_context != WAKER_UNKNOWN) {
    wait.waker.emplace();
    wait.waker->header.tid = wait.fixed.waker_tid;
    wait.waker->header.pid = wait.fixed.waker_pid;
    std::memcpy(wait.waker->header.comm, wait.fixed.waker, sizeof wait.fixed.waker);
    wait.waker->context = wait.fixed.waker_context;
    wait.waker->number = wait.fixed.waker_number;
  }
  thread.waker.reset();
  if (thread.throttle && thread.throttle->header.time_ns == wait.in_ns())
    wait.throttle = std::move(thread.throttle);
  thread.throttle.reset();
  if (wait.fixed.state == WAIT_OTHER) wait.stop = stop_of(wait.fixed);
  std::erase_if(thread.runs, [&wait](const sched_runs& runs) { return !wait.has(runs); });
  wait.runs = std::exchange(thread.runs, {});
  thread.comm = fixed_text(wait.fixed.header.comm);
  thread.waits.push_back(std::move(wait));
  order_.push_back(record.header().tid);
  late_wait(thread, stack);
  make_room();
}

void StallAssembler::late_wait(Thread& thread, const Record* stack) {
  const RawWait& wait = thread.waits.back();
  if (!(wait.fixed.flags & WAIT_OF_MEMBER) || wait.fixed.flags & WAIT_UNARMED) return;
  if (!late_.cpus.empty() &&
      std::find(late_.cpus.begin(), late_.cpus.end(), wait.fixed.header.cpu) == late_.cpus.end())
    return;
  const bool is_span = late_.within_calls || (wait.fixed.place == 0 && wait.fixed.call == 0);
  if (is_span && late_.offcpu_ns > 0 && wait.length_ns() >= late_.offcpu_ns &&
      wait.out_ns() > late_.since_ns)
    hand_over_wait(SPAN_OFFCPU, wait, wait.length_ns(), stack);
  if (late_.call_ns > 0 && wait.fixed.call > 0 && wait.out_ns() > late_.since_ns)
    late_way_back(thread, wait, stack);
  const std::uint64_t woken_ns = wait.fixed.wake_ns;
  if (late_.wakeup_ns == 0 || woken_ns <= late_.since_ns || woken_ns > wait.in_ns()) return;
  // The wake-up may come before out_ns, while the thread is on its way off the CPU.
  const std::uint64_t latency_ns = wait.in_ns() - woken_ns;
  if (latency_ns >= late_.wakeup_ns) hand_over_wait(SPAN_WAKEUP, wait, latency_ns, stack);
}

/// The finding is about the whole call, unless the call has been handed over already.
void StallAssembler::late_way_back(Thread& thread, const RawWait& wait, const Record* stack) {
  const std::uint64_t call_ns = std::max<std::uint64_t>(wait.fixed.call_ns, late_.since_ns);
  const bool is_known = thread.late_call_ns == call_ns;
  if (is_known && wait.fixed.state == WAIT_PREEMPTED) return;  // no news about that call
  std::uint64_t begin_ns = is_known ? wait.out_ns() : std::min(call_ns, wait.out_ns());
  if (wait.in_ns() - begin_ns < late_.call_ns || !way_back_ || !way_back_(wait)) return;
  std::vector<RawSums> points = thread.wakes;
  if (wait.fixed.flags & WAIT_RAN_SINCE_CALL && begin_ns < wait.out_ns())
    add_in_order(points, begin_of_run(wait, begin_ns));
  const auto ledger_from = [&](std::uint64_t from_ns) {
    return ledger_between(thread.waits, points, RawWaker(), from_ns, wait.in_ns());
  };
  RawLedger ledger = ledger_from(begin_ns);
  // The kernel sends none of the call's short waits. If they make too much time unknown, the
  // finding begins with the first recorded wait, provided that the rest is late as well.
  if (ledger.unknown_ns > (wait.in_ns() - begin_ns) / unknown_share) {
    const std::uint64_t known_ns = first_known(thread.waits, begin_ns);
    const bool is_late = wait.in_ns() - known_ns >= late_.call_ns;
    RawLedger rest = ledger_from(known_ns);
    if (is_late &&
        ledger.unknown_ns - rest.unknown_ns > (wait.in_ns() - begin_ns) / unknown_share) {
      begin_ns = known_ns;
      ledger = std::move(rest);
    }
  }
  thread.late_call_ns = call_ns;
  RawStall stall;
  stall.is_way_back = true;
  stall.span.header = wait.fixed.header;
  stall.span.span = SPAN_SYSCALL;
  stall.span.subject = wait.fixed.call - 1;
  stall.span.flags = SPAN_HAS_LEDGER;
  stall.span.latency_ns = wait.in_ns() - begin_ns;
  stall.span.ledger = ledger.parts;
  stall.span.throttled_ns = ledger.throttled_ns;
  find_waits(stall);
  find_chain(stall);
  hand_over(stall, stack);
}

/// Adds the user stack from `stack`, a wait_stack record or null.
void StallAssembler::hand_over(RawStall& stall, const Record* stack) {
  if (stack) {
    const auto fixed = stack->as<wait_stack>();
    take_user_side(stall, user_side_at(stack->bytes, sizeof fixed, fixed.flags, fixed.user_bytes));
    std::copy(std::begin(fixed.arguments), std::end(fixed.arguments), stall.arguments.begin());
  }
  stall.cpu_samples = &samples_;
  handler_(stall);
}

void StallAssembler::hand_over_wait(span_kind kind, const RawWait& wait, std::uint64_t latency_ns,
                                    const Record* stack) {
  RawStall stall;
  stall.span.header = wait.fixed.header;
  stall.span.span = static_cast<u16>(kind);
  stall.span.flags = SPAN_HAS_LEDGER;
  stall.span.latency_ns = latency_ns;
  ledger_parts& parts = stall.span.ledger;
  stall.span.throttled_ns = wait.throttled_ns();
  if (kind == SPAN_WAKEUP) {
    parts.runqueue_ns = latency_ns - std::min(latency_ns, wait.throttled_ns());
  } else if (wait.fixed.state == WAIT_PREEMPTED) {
    parts.preempted_ns = latency_ns;
  } else {
    const bool is_deep = wait.fixed.state == WAIT_UNINTERRUPTIBLE;
    (is_deep ? parts.uninterruptible_ns : parts.sleeping_ns) = wait.blocked_ns();
    parts.runqueue_ns = wait.runqueue_ns();
  }
  stall.waits = {&wait};
  stall.places = places_of(stall.waits, nullptr);
  if (kind == SPAN_OFFCPU) find_chain(stall);
  hand_over(stall, stack);
}

/// Drops the oldest waits beyond the limits. `order_` may name a thread more often than the thread
/// has waits left, which is harmless.
void StallAssembler::make_room() {
  const auto forget_one = [this](std::uint32_t tid) {
    const auto found = threads_.find(tid);
    if (found == threads_.end() || found->second.waits.empty()) return;
    Thread& thread = found->second;
    thread.forgotten_until_ns = thread.waits.front().in_ns();
    thread.waits.pop_front();
  };
  const std::uint32_t newest = order_.back();
  if (thread_of(newest).waits.size() > limits_.waits_of_a_thread) forget_one(newest);
  while (order_.size() > limits_.waits) {
    forget_one(order_.front());
    order_.pop_front();
  }
}

void StallAssembler::span(const Record& record) {
  RawStall stall;
  stall.span = record.as<span_record>();
  const std::span<const std::byte> bytes = record.bytes;
  std::size_t at = std::min(sizeof(span_record), bytes.size());
  stall.kernel_stack = addresses_at(bytes, at, stall.span.kernel_frames);
  at += 8 * stall.kernel_stack.size();
  take_user_side(stall, user_side_at(bytes, at, stall.span.flags, stall.span.user_bytes));
  if (stall.span.begin_tid != 0) {
    const auto beginner = threads_.find(stall.span.begin_tid);
    if (beginner != threads_.end()) stall.begin_comm = beginner->second.comm;
  }
  Thread& thread = thread_of(stall.span.header.tid);
  if (stall.span.span == SPAN_SYSCALL && !(stall.span.flags & SPAN_OPEN))
    thread.late_call_ns = stall.begin_ns();
  if (stall.span.span == SPAN_SYSCALL && thread.handler &&
      thread.handler->header.time_ns == stall.span.header.time_ns) {
    stall.is_way_back = true;
    stall.handler = std::exchange(thread.handler, std::nullopt);
  }
  if (stall.span.span == SPAN_SYSCALL && thread.object &&
      thread.object->header.time_ns == stall.span.header.time_ns)
    stall.object = *std::exchange(thread.object, nullptr);
  if (stall.span.flags & SPAN_OPEN && thread.throttle &&
      thread.throttle->header.time_ns == stall.span.header.time_ns)
    stall.throttle = *std::exchange(thread.throttle, nullptr);
  if (stall.span.span == SPAN_SYSCALL && thread.call_schema) {
    const Record call{thread.call_schema, thread.call};
    if (call.header().time_ns == stall.span.header.time_ns) stall.call = call;
  }
  find_waits(stall);
  find_chain(stall);
  hand_over(stall, nullptr);
}

void StallAssembler::find_waits(RawStall& stall) {
  const std::uint64_t begin_ns = stall.begin_ns(), end_ns = stall.span.header.time_ns;
  const auto found = threads_.find(stall.span.header.tid);
  if (!lived_through(stall.span)) return;
  stall.samples = samples_.of(stall.span.header.tid, begin_ns, end_ns);
  static const Thread unknown;
  const Thread& thread = found != threads_.end() ? found->second : unknown;
  for (const RawWait& wait : thread.waits) {
    if (wait.in_ns() <= begin_ns || wait.out_ns() >= end_ns) continue;
    stall.waits.push_back(&wait);
  }
  const wait_places* shorter = thread.places.get();
  if (shorter && (stall.span.span != SPAN_SYSCALL || shorter->call_ns != begin_ns))
    shorter = nullptr;
  stall.places = places_of(stall.waits, shorter);
  if (lacks_parts(stall.span)) find_parts(stall, thread.waits, thread.wakes);
  stall.waits_forgotten = thread.forgotten_until_ns > begin_ns;
  if (stall.waits_forgotten) ++stalls_without_;
}

void StallAssembler::follow(RawLink& link, std::uint64_t begin_ns, std::uint64_t end_ns) {
  const auto found = threads_.find(link.waker->header.tid);
  static const Thread unknown;
  const Thread& thread = found != threads_.end() ? found->second : unknown;
  link.during_ns = end_ns - begin_ns;
  link.samples = samples_.of(link.waker->header.tid, begin_ns, end_ns);
  link.waking = samples_.of_waker(link.waker->header.tid, link.waker->header.time_ns);
  link.ledger = ledger_between(thread.waits, thread.wakes, *link.waker, begin_ns, end_ns);
  link.is_cut = thread.forgotten_until_ns > begin_ns;
  if (link.ledger->places.empty()) return;
  const RawPlace& place = link.ledger->places.front();
  if (place.ns < link.during_ns / least_share || place.ns < link.ledger->parts.oncpu_ns) return;
  link.is_cut = false;
  link.wait = place.longest;
  link.overlap_ns = place.ns;
  link.runqueue_ns = place.runqueue_ns;
}

/// The chain begins at the longest wait in the place where the thread was blocked longest. It goes
/// to the waker, to the waker's own waits meanwhile, and so on, until a thread ran or an interrupt
/// came.
void StallAssembler::find_chain(RawStall& stall) {
  if (stall.places.empty() || stall.places.front().blocked_ns == 0) return;
  const RawWait* wait = stall.longest();
  std::uint64_t begin_ns = wait->out_ns(), end_ns = wait->unblocked_ns();
  std::vector<std::uint32_t> met{stall.span.header.tid};
  while (wait && wait->waker) {
    RawLink link;
    link.waker = &*wait->waker;
    const std::uint32_t tid = link.waker->header.tid;
    link.is_thread = link.waker->context == WAKER_THREAD || (own_call_ && own_call_(*link.waker));
    if (link.is_thread && end_ns > begin_ns) {
      const bool circle = std::find(met.begin(), met.end(), tid) != met.end();
      follow(link, begin_ns, end_ns);
      if (link.wait && (circle || stall.chain.size() + 1 >= limits_.depth)) {
        link.is_cut = true;
        link.wait = nullptr;
        link.ledger.reset();
        link.overlap_ns = link.runqueue_ns = 0;
      }
    }
    stall.chain.push_back(link);
    wait = link.wait;
    if (!wait) break;
    met.push_back(tid);
    begin_ns = std::max(begin_ns, wait->out_ns());
    end_ns = std::min(end_ns, wait->unblocked_ns());
  }
}

}  // namespace overdue
