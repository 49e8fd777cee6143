#include "analysis/window_ledger.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "analysis/wait_places.h"

namespace overdue {
namespace {

constexpr std::array all_parts = {&ledger_parts::oncpu_ns,           &ledger_parts::runqueue_ns,
                                  &ledger_parts::preempted_ns,       &ledger_parts::sleeping_ns,
                                  &ledger_parts::uninterruptible_ns, &ledger_parts::irq_ns,
                                  &ledger_parts::softirq_ns};

std::uint64_t sum_of(const RawSums& point) {
  std::uint64_t all = point.throttled_ns;
  for (const auto part : all_parts) all += point.parts.*part;
  return all;
}

/// A stretch is near if its time outside the window is at most this share of its time inside.
constexpr std::uint64_t near_share = 10;

std::uint64_t scaled(std::uint64_t ns, std::uint64_t part, std::uint64_t all) {
  return static_cast<std::uint64_t>(static_cast<double>(ns) * static_cast<double>(part) /
                                    static_cast<double>(all));
}

std::uint64_t less(std::uint64_t from, std::uint64_t amount) {
  return from > amount ? from - amount : 0;
}

/// A window of time, and the parts found in the window so far.
class Window {
 public:
  Window(std::uint64_t begin_ns, std::uint64_t end_ns) : begin_ns_(begin_ns), end_ns_(end_ns) {}

  void add_wait(const RawWait& wait);
  /// Adds the stretch between two moments without a recorded wait in between.
  void add_run(const RawSums& from, const RawSums& to);
  RawLedger result();

 private:
  std::uint64_t within(std::uint64_t from_ns, std::uint64_t to_ns) const {
    return less(std::min(to_ns, end_ns_), std::max(from_ns, begin_ns_));
  }
  void take(std::uint64_t& part, std::uint64_t ns) {
    part += ns;
    known_ns_ += ns;
  }
  void add_place(const RawWait& wait, std::uint64_t ns);

  std::uint64_t begin_ns_, end_ns_;
  std::uint64_t known_ns_ = 0;
  RawLedger found_;
};

// When a runnable thread was throttled is unknown. Throttled time is assumed to come first.
void Window::add_wait(const RawWait& wait) {
  const std::uint64_t ns = within(wait.out_ns(), wait.in_ns());
  if (ns == 0) return;
  add_place(wait, ns);
  ledger_parts& parts = found_.parts;
  const std::uint64_t ready_ns = wait.out_ns() + wait.blocked_ns();
  const std::uint64_t free_ns = ready_ns + wait.throttled_ns();
  const bool is_deep = wait.fixed.state == WAIT_UNINTERRUPTIBLE;
  take(is_deep ? parts.uninterruptible_ns : parts.sleeping_ns, within(wait.out_ns(), ready_ns));
  take(found_.throttled_ns, within(ready_ns, free_ns));
  if (wait.fixed.state == WAIT_UNKNOWN) return;
  take(wait.fixed.state == WAIT_PREEMPTED ? parts.preempted_ns : parts.runqueue_ns,
       within(free_ns, wait.in_ns()));
}

void Window::add_run(const RawSums& from, const RawSums& to) {
  const std::uint64_t inside_ns = within(from.time_ns, to.time_ns);
  if (inside_ns == 0) return;
  const std::uint64_t all_ns = less(to.time_ns, from.time_ns), outside_ns = all_ns - inside_ns;
  const bool is_near = outside_ns <= inside_ns / near_share;
  std::uint64_t left_ns = inside_ns;
  const auto take_of = [&](std::uint64_t& part, std::uint64_t before_ns, std::uint64_t after_ns) {
    const std::uint64_t ns = less(after_ns, before_ns);
    const std::uint64_t here_ns = is_near ? scaled(ns, inside_ns, all_ns) : less(ns, outside_ns);
    const std::uint64_t taken_ns = std::min(left_ns, here_ns);
    left_ns -= taken_ns;
    take(part, taken_ns);
  };
  for (const auto part : all_parts) take_of(found_.parts.*part, from.parts.*part, to.parts.*part);
  take_of(found_.throttled_ns, from.throttled_ns, to.throttled_ns);
}

void Window::add_place(const RawWait& wait, std::uint64_t ns) {
  RawPlace& place = place_among(found_.places, wait);
  if (wait.out_ns() >= begin_ns_) place.whole.push_back(&wait);
  place.ns += ns;
  place.blocked_ns += within(wait.out_ns(), wait.out_ns() + wait.blocked_ns());
  ++place.count;
  if (wait.fixed.state != WAIT_PREEMPTED)
    place.runqueue_ns += within(wait.in_ns() - wait.runqueue_ns(), wait.in_ns());
  if (ns <= place.longest_ns) return;
  place.longest = &wait;
  place.longest_ns = ns;
}

RawLedger Window::result() {
  found_.unknown_ns = less(end_ns_ - begin_ns_, known_ns_);
  std::sort(found_.places.begin(), found_.places.end(),
            [](const RawPlace& one, const RawPlace& other) { return one.ns > other.ns; });
  return std::move(found_);
}

RawSums after(const RawWait& wait) {
  return {wait.in_ns(), wait.fixed.sums, wait.fixed.throttled_sum_ns};
}

RawSums before(const RawWait& wait) {
  RawSums point = after(wait);
  point.time_ns = wait.out_ns();
  const bool is_deep = wait.fixed.state == WAIT_UNINTERRUPTIBLE;
  std::uint64_t& blocked = is_deep ? point.parts.uninterruptible_ns : point.parts.sleeping_ns;
  blocked = less(blocked, wait.blocked_ns());
  point.throttled_ns = less(point.throttled_ns, wait.throttled_ns());
  point.parts.runqueue_ns = less(point.parts.runqueue_ns, wait.runqueue_ns());
  if (wait.fixed.state == WAIT_PREEMPTED)
    point.parts.preempted_ns = less(point.parts.preempted_ns, wait.length_ns());
  return point;
}

/// The moment when the ledger began, with all sums 0. Too late by the time that the ledger did not
/// see.
RawSums begin_of(const RawSums& point) {
  return {less(point.time_ns, sum_of(point)), {}, 0};
}

/// The sums at `arrival_ns`, from which on the thread had the CPU until `end`. Interrupts are not
/// subtracted: they may have come at any time.
RawSums last_arrival(const RawSums& end, std::uint64_t arrival_ns) {
  RawSums point = end;
  point.time_ns = arrival_ns;
  point.parts.oncpu_ns = less(point.parts.oncpu_ns, end.time_ns - arrival_ns);
  return point;
}

}  // namespace

void add_in_order(std::vector<RawSums>& points, const RawSums& point) {
  const auto comes_before = [](const RawSums& one, const RawSums& other) {
    return one.time_ns < other.time_ns;
  };
  points.insert(std::upper_bound(points.begin(), points.end(), point, comes_before), point);
}

RawSums begin_of_run(const RawWait& wait, std::uint64_t begin_ns) {
  return last_arrival(before(wait), begin_ns);
}

RawLedger ledger_between(const std::deque<RawWait>& waits, const std::vector<RawSums>& wakes,
                         const RawWaker& waker, std::uint64_t begin_ns, std::uint64_t end_ns) {
  Window window(begin_ns, end_ns);
  std::optional<RawSums> last;
  const auto run_until = [&](const RawSums& next) {
    window.add_run(last ? *last : begin_of(next), next);
    last = next;
  };
  auto wake = wakes.begin();
  const auto pass_wakes_until = [&](std::uint64_t time_ns) {
    for (; wake != wakes.end() && wake->time_ns <= time_ns; ++wake) run_until(*wake);
  };
  // What ended before the window counts as the beginning of the first stretch alone.
  auto wait = std::partition_point(waits.begin(), waits.end(), [begin_ns](const RawWait& one) {
    return one.in_ns() <= begin_ns;
  });
  if (wait != waits.begin()) {
    const RawWait& earlier = *std::prev(wait);
    while (wake != wakes.end() && wake->time_ns <= earlier.out_ns()) ++wake;
    last = after(earlier);
  }
  for (; wait != waits.end() && wait->out_ns() < end_ns; ++wait) {
    pass_wakes_until(wait->out_ns());
    run_until(before(*wait));
    window.add_wait(*wait);
    last = after(*wait);
  }
  const std::uint64_t woke_ns = waker.header.time_ns, arrival_ns = waker.ran_since_ns;
  if (arrival_ns == 0 || arrival_ns > woke_ns || woke_ns < end_ns) return window.result();
  const RawSums at_end{woke_ns, waker.sums, waker.throttled_sum_ns};
  pass_wakes_until(arrival_ns);
  if (!last || arrival_ns > last->time_ns) run_until(last_arrival(at_end, arrival_ns));
  run_until(at_end);
  return window.result();
}

bool lacks_parts(const span_record& span) {
  if (span.flags & SPAN_HAS_SUMS) return true;
  const bool has_parts = span.span == SPAN_PAIR || span.span == SPAN_PAGEFAULT;
  return has_parts && !(span.flags & SPAN_HAS_LEDGER);
}

void find_parts(RawStall& stall, const std::deque<RawWait>& waits,
                const std::vector<RawSums>& wakes) {
  span_record& span = stall.span;
  const std::uint64_t begin_ns = stall.begin_ns();
  const RawWaker at_end{.header = span.header,
                        .irq_name = {},
                        .disk = {},
                        .stack = {},
                        .sums = span.ledger,
                        .throttled_sum_ns = span.throttled_ns,
                        .ran_since_ns = !(span.flags & SPAN_HAS_SUMS) ? 0
                                        : stall.waits.empty()         ? begin_ns
                                                              : stall.waits.back()->in_ns()};
  RawLedger ledger = ledger_between(waits, wakes, at_end, begin_ns, span.header.time_ns);
  span.ledger = ledger.parts;
  span.throttled_ns = ledger.throttled_ns;
  span.flags = static_cast<u16>((span.flags & ~SPAN_HAS_SUMS) | SPAN_HAS_LEDGER);
  stall.places = std::move(ledger.places);
}

}  // namespace overdue
