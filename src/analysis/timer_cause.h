#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/osnoise.h"
#include "bpf/timerlat.h"
#include "core/record.h"

namespace overdue {

/// One piece of noise within a latency, clipped to it.
struct CauseNoise {
  timerlat_noise noise;
  std::uint64_t net_ns = 0;  ///< without what interrupted it, as osnoise's durations
};

/// A share of a latency: everything of one kind and name, net of what interrupted it.
struct CausePart {
  u32 kind;          ///< enum noise_kind
  u32 number;        ///< of the interrupt, or tid
  std::string name;  ///< "local_timer", "NET_RX", of a device or thread (raw); else empty
  std::uint64_t ns;
  std::uint64_t before_irq_ns;  ///< of it, before the timer's interrupt came
  s32 priority;  ///< of a thread, the most urgent it had, as the kernel counts: see timerlat_noise
};

/// Where an activation's latency went. Parts and residual add up to it, to the nanosecond.
struct TimerCause {
  timerlat_activation activation{};
  std::uint64_t begin_ns = 0;            ///< the timer was to expire
  std::uint64_t irq_ns = 0;              ///< it did
  std::uint64_t end_ns = 0;              ///< the thread ran, or was back in its program
  std::uint64_t latency_ns = 0;          ///< from begin to end
  std::uint64_t irq_delay_ns = 0;        ///< of it, to the timer's interrupt
  std::vector<CausePart> parts;          ///< the longest first
  std::vector<CauseNoise> noises;        ///< by begin
  std::vector<std::uint64_t> addresses;  ///< where the CPU was at the interrupt, innermost first
  /// What nothing that was seen explains: an idle CPU's way out of its sleep, the switch itself,
  /// hardware, a hypervisor; to the program also the thread's own way back.
  std::uint64_t residual_ns = 0;
  std::uint64_t residual_before_irq_ns = 0;  ///< of it, before the interrupt came
};

enum class LatencyEnd { thread, user };

/// Takes apart a timerlat_activation. Each nanosecond belongs to the innermost of what was going
/// on: an NMI before an interrupt, that before a soft one, that before a thread (as osnoise's net
/// durations, Documentation/trace/osnoise-tracer.rst). Records cut short are taken as far as they
/// go.
/// `stopped` is the innermost of all: see find_machine_stop().
TimerCause take_apart(const Record& activation, LatencyEnd end = LatencyEnd::thread,
                      const std::optional<timerlat_noise>& stopped = {});

/// Takes apart an osnoise_gap likewise: the pause is the latency, and there is no timer.
TimerCause take_apart_pause(const Record& pause);

/// "irq", "softirq", "nmi", "thread": as osnoise has it; and "hardware".
std::string_view noise_kind_name(u32 kind);
/// What it is called: "local_timer", "NET_RX", "virtio1", a thread's name (raw); else empty.
std::string noise_name(const timerlat_noise& noise);

/// Whether it is one of several, with a name and a number.
constexpr bool has_name(u32 noise_kind) {
  return noise_kind != NOISE_NMI && noise_kind != NOISE_HARDWARE;
}

}  // namespace overdue
