#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/osnoise.h"
#include "bpf/timerlat.h"
#include "core/breakdown.h"
#include "core/record.h"

namespace overdue {

/// A noise entry within a latency, clipped to the latency.
struct CauseNoise {
  timerlat_noise noise;
  std::uint64_t net_ns = 0;  ///< duration without nested noise, as osnoise's durations
};

/// Decomposition of an activation's latency, to the nanosecond.
struct TimerCause {
  timerlat_activation activation{};
  std::uint64_t begin_ns = 0;            ///< expiry for which the timer was set
  std::uint64_t irq_ns = 0;              ///< timer's interrupt
  std::uint64_t end_ns = 0;              ///< switch to the thread, or return to its program
  std::uint64_t latency_ns = 0;          ///< from begin_ns to end_ns
  std::uint64_t irq_delay_ns = 0;        ///< part of latency_ns until the timer's interrupt
  std::vector<CauseNoise> noises;        ///< in order of their begins
  std::vector<std::uint64_t> addresses;  ///< kernel stack at the interrupt, innermost first
  /// The noise, without nested noise. Unexplained is time without any noise: exit from idle, the
  /// context switch itself, hardware, a hypervisor; with LatencyEnd::user, also the thread's own
  /// way back to its program.
  Breakdown parts;
  std::uint64_t unexplained_before_irq_ns = 0;  ///< part of it before the interrupt
};

enum class LatencyEnd { thread, user };

/// Decomposes a timerlat_activation. Each nanosecond belongs to the innermost noise: NMI,
/// interrupt, softirq, thread, in this order (as in osnoise's net durations,
/// Documentation/trace/osnoise-tracer.rst). Of a truncated record, as much is used as the record
/// has. `stopped`, from find_machine_stop(), is innermost of all.
TimerCause take_apart(const Record& activation, LatencyEnd end = LatencyEnd::thread,
                      const std::optional<timerlat_noise>& stopped = {});

/// Decomposes an osnoise_gap in the same way: the noise is the latency, and there is no timer.
TimerCause take_apart_pause(const Record& pause);

/// The kinds of noise, as osnoise names them, and two more: "hardware", and "unknown" for the rest.
inline constexpr std::array<std::string_view, 6> noise_kind_names{"irq",    "softirq",  "nmi",
                                                                  "thread", "hardware", "unknown"};
/// One of noise_kind_names.
std::string_view noise_kind_name(ShareKind kind);
/// The share to which noise of a kind (enum noise_kind) belongs.
ShareKind share_kind(u32 noise_kind);
/// "local_timer", "NET_RX", "virtio1", a thread's name (raw); else empty.
std::string noise_name(const timerlat_noise& noise);

/// Whether noise of this kind has a name and a number.
constexpr bool has_name(ShareKind kind) {
  return kind != ShareKind::nmi && kind != ShareKind::hardware;
}

}  // namespace overdue
