#include "live/rising_calls.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "analysis/wait_functions.h"
#include "bpf/syscalls.h"
#include "live/record_limit.h"
#include "sinks/figures.h"
#include "sinks/text_format.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr int factor = 4;
constexpr Duration highest = std::chrono::seconds(64);
/// Late calls of one number between two times.
constexpr std::uint64_t few = RecordLimit::records_per_count / 4;

std::size_t bits(std::uint64_t latency_ns) {
  return static_cast<std::size_t>(std::bit_width(latency_ns));
}

bool waits_as_asked(std::uint32_t nr) {
  const WaitKind kind = wait_kind_of_call(syscall_name(ABI_NATIVE, nr, {}));
  return kind == WaitKind::sleep || kind == WaitKind::events;
}

}  // namespace

void RisingCalls::count(const span_record& span) {
  ++all_;
  if (span.span == SPAN_SYSCALL && span.subject < SYSCALL_TABLE_SIZE)
    ++late_[static_cast<std::uint32_t>(span.subject)][bits(span.latency_ns)];
}

std::uint64_t RisingCalls::sum(const Latencies& late) {
  return std::accumulate(late.begin(), late.end(), std::uint64_t{0});
}

std::uint64_t RisingCalls::late_from(const Latencies& late, Duration threshold) {
  const auto first = bits(static_cast<std::uint64_t>(threshold.count()));
  return std::accumulate(late.begin() + static_cast<std::ptrdiff_t>(first), late.end(),
                         std::uint64_t{0});
}

void RisingCalls::forget() {
  late_.clear();
  all_ = 0;
}

bool RisingCalls::rise(Duration general) {
  const auto late = std::exchange(late_, {});
  const std::uint64_t all = std::exchange(all_, 0);
  const auto most =
      std::ranges::max_element(late, {}, [](const auto& call) { return sum(call.second); });
  if (most == late.end() || 2 * sum(most->second) <= all || !waits_as_asked(most->first))
    return false;
  Duration& threshold = thresholds_.try_emplace(most->first, general).first->second;
  if (threshold >= highest) return false;
  threshold = std::max(threshold, general);
  do {
    threshold *= factor;
  } while (threshold < highest && late_from(most->second, threshold) > few);
  return true;
}

std::string RisingCalls::text() const {
  std::string text;
  for (const auto& [nr, threshold] : thresholds_)
    text += fmt::format(", {} from {} on", syscall_name(ABI_NATIVE, nr, {}),
                        duration_text(static_cast<std::uint64_t>(threshold.count())));
  return text;
}

}  // namespace overdue
