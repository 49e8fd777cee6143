#include "analysis/timer_cause.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include <fmt/format.h>

#include "analysis/span_words.h"
#include "base/text.h"
#include "core/interrupt_names.h"

namespace overdue {
namespace {

/// `count` noise entries after the record's fixed part, or as many as the record has.
std::vector<timerlat_noise> noises_of(const Record& record, std::size_t fixed, std::size_t count) {
  if (record.bytes.size() <= fixed) return {};
  count = std::min<std::size_t>(count, (record.bytes.size() - fixed) / sizeof(timerlat_noise));
  std::vector<timerlat_noise> noises(count);
  if (count > 0)
    std::memcpy(static_cast<void*>(noises.data()), record.bytes.data() + fixed,
                count * sizeof(timerlat_noise));
  return noises;
}

std::vector<std::uint64_t> addresses_of(const Record& record,
                                        const timerlat_activation& activation) {
  const std::size_t begin = sizeof activation + activation.noises * sizeof(timerlat_noise);
  if (record.bytes.size() <= begin) return {};
  const std::size_t count =
      std::min<std::size_t>(activation.kernel_frames, (record.bytes.size() - begin) / 8);
  std::vector<std::uint64_t> addresses(count);
  if (count > 0) std::memcpy(addresses.data(), record.bytes.data() + begin, count * 8);
  return addresses;
}

/// The lower, the further inside. Device and local interrupts do not interrupt each other.
u32 depth(u32 kind) {
  if (kind == NOISE_HARDWARE) return 0;
  return kind == NOISE_VECTOR ? u32{NOISE_IRQ} : kind;
}

/// The innermost noise entry that covers all time from `begin` to `end`, or null.
CauseNoise* innermost(std::vector<CauseNoise>& noises, u64 begin, u64 end) {
  CauseNoise* found = nullptr;
  for (CauseNoise& each : noises)
    if (each.noise.begin_ns <= begin && each.noise.end_ns >= end &&
        (found == nullptr || depth(each.noise.kind) < depth(found->noise.kind)))
      found = &each;
  return found;
}

/// Begins and ends of noise entries and of the latency's parts, in order.
std::vector<u64> edges_of(const TimerCause& cause) {
  std::vector<u64> edges{cause.begin_ns, cause.irq_ns, cause.end_ns};
  for (const CauseNoise& each : cause.noises) {
    edges.push_back(each.noise.begin_ns);
    edges.push_back(each.noise.end_ns);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

/// Adds the noise entries that overlap the latency, clipped to the latency.
void add_noises(TimerCause& cause, const std::vector<timerlat_noise>& noises) {
  for (timerlat_noise noise : noises) {
    noise.begin_ns = std::max<u64>(noise.begin_ns, cause.begin_ns);
    noise.end_ns = std::min<u64>(noise.end_ns, cause.end_ns);
    if (noise.begin_ns < noise.end_ns) cause.noises.push_back({noise, 0});
  }
  const auto order = [](const timerlat_noise& noise) {
    return std::tuple(noise.begin_ns, -depth(noise.kind), noise.end_ns, noise.number);
  };
  std::sort(
      cause.noises.begin(), cause.noises.end(),
      [&](const CauseNoise& a, const CauseNoise& b) { return order(a.noise) < order(b.noise); });
}

/// Gives every nanosecond to one part, or leaves it unexplained.
void share_out(TimerCause& cause) {
  const std::vector<u64> edges = edges_of(cause);
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const u64 ns = edges[i + 1] - edges[i];
    const u64 before_irq_ns = edges[i] < cause.irq_ns ? ns : 0;
    CauseNoise* const found = innermost(cause.noises, edges[i], edges[i + 1]);
    if (found == nullptr) {
      cause.parts.unexplained_ns += ns;
      cause.unexplained_before_irq_ns += before_irq_ns;
      continue;
    }
    found->net_ns += ns;
    const timerlat_noise& noise = found->noise;
    Share& share = cause.parts.of(share_kind(noise.kind), noise.number, noise_name(noise));
    if (noise.kind == NOISE_THREAD) share.priority = std::min<s32>(share.priority, noise.detail);
    share.ns += ns;
    share.before_irq_ns += before_irq_ns;
  }
}

}  // namespace

TimerCause take_apart(const Record& record, LatencyEnd end,
                      const std::optional<timerlat_noise>& stopped) {
  TimerCause cause;
  cause.activation = record.as<timerlat_activation>();
  const timerlat_activation& activation = cause.activation;
  cause.begin_ns = activation.expires_ns;
  cause.end_ns = end == LatencyEnd::user ? activation.user_ns : activation.header.time_ns;
  cause.end_ns = std::max(cause.begin_ns, cause.end_ns);
  cause.irq_ns = std::clamp<u64>(activation.irq_ns, cause.begin_ns, cause.end_ns);
  cause.latency_ns = cause.end_ns - cause.begin_ns;
  cause.irq_delay_ns = cause.irq_ns - cause.begin_ns;
  cause.addresses = addresses_of(record, activation);
  std::vector<timerlat_noise> noises = noises_of(record, sizeof activation, activation.noises);
  if (stopped) noises.push_back(*stopped);
  add_noises(cause, noises);
  share_out(cause);
  return cause;
}

TimerCause take_apart_pause(const Record& pause) {
  TimerCause cause;
  const auto gap = pause.as<osnoise_gap>();
  cause.begin_ns = cause.irq_ns = gap.begin_ns;
  cause.latency_ns = gap.noise_ns;
  cause.end_ns = gap.begin_ns + gap.noise_ns;
  add_noises(cause, noises_of(pause, sizeof gap, gap.noises));
  share_out(cause);
  return cause;
}

ShareKind share_kind(u32 noise_kind) {
  switch (noise_kind) {
    case NOISE_NMI:
      return ShareKind::nmi;
    case NOISE_IRQ:
    case NOISE_VECTOR:
      return ShareKind::irq;
    case NOISE_SOFTIRQ:
      return ShareKind::softirq;
    case NOISE_THREAD:
      return ShareKind::thread;
    case NOISE_HARDWARE:
      return ShareKind::hardware;
    default:
      return ShareKind::other;
  }
}

std::string_view noise_kind_name(ShareKind kind) {
  switch (kind) {
    case ShareKind::nmi:
      return "nmi";
    case ShareKind::irq:
      return "irq";
    case ShareKind::softirq:
      return "softirq";
    case ShareKind::thread:
      return "thread";
    case ShareKind::hardware:
      return "hardware";
    default:
      return "unknown";
  }
}

std::string noise_name(const timerlat_noise& noise) {
  if (noise.kind == NOISE_SOFTIRQ) return softirq_name(noise.number);
  const auto which = static_cast<std::size_t>(noise.detail);
  if (noise.kind == NOISE_VECTOR && which < vector_names.size())
    return std::string(vector_names[which]);
  return std::string(fixed_text(noise.name));
}

}  // namespace overdue
