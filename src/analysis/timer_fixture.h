#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "analysis/timer_cause.h"

namespace overdue {

constexpr Schema activation_schema{.id = RECORD_TIMERLAT,
                                   .name = "activation",
                                   .size = sizeof(timerlat_activation),
                                   .fields = {},
                                   .help = ""};

inline timerlat_noise noise(u16 kind, u32 number, u64 begin_ns, u64 end_ns,
                            std::string_view name = {}, s16 detail = 120) {
  timerlat_noise noise{begin_ns, end_ns, number, kind, detail, {}};
  name.copy(noise.name, sizeof noise.name);
  return noise;
}

inline timerlat_noise local_timer(u64 begin_ns, u64 end_ns) {
  return noise(NOISE_VECTOR, 236, begin_ns, end_ns, {}, VECTOR_LOCAL_TIMER);
}

/// An activation of CPU 0's thread. Its timer was set for 1000.
struct Activation {
  u64 irq_ns, thread_ns;
  std::vector<timerlat_noise> noises = {};
  timerlat_activation fixed = {};
  std::vector<u64> frames = {};

  std::vector<std::byte> bytes() const {
    timerlat_activation whole = fixed;
    std::memcpy(whole.header.comm, "timerlat/0", 10);
    whole.header.tid = 1035;
    whole.header.time_ns = thread_ns;
    whole.expires_ns = 1000;
    whole.irq_ns = irq_ns;
    if (whole.user_ns == 0) whole.user_ns = thread_ns + 500;
    whole.noises = static_cast<u16>(noises.size());
    whole.kernel_frames = static_cast<u16>(frames.size());
    std::vector<std::byte> bytes;
    const auto append = [&](const void* data, std::size_t size) {
      const auto* begin = static_cast<const std::byte*>(data);
      bytes.insert(bytes.end(), begin, begin + size);
    };
    append(&whole, sizeof whole);
    for (const timerlat_noise& each : noises) append(&each, sizeof each);
    for (const u64 frame : frames) append(&frame, sizeof frame);
    return bytes;
  }

  TimerCause cause(LatencyEnd end = LatencyEnd::thread, std::size_t missing_bytes = 0,
                   const std::optional<timerlat_noise>& stopped = {}) const {
    std::vector<std::byte> all = bytes();
    all.resize(all.size() - missing_bytes);
    return take_apart({&activation_schema, all}, end, stopped);
  }

  Activation& interrupting(u32 tid, std::string_view comm) {
    fixed.interrupted_tid = tid;
    comm.copy(fixed.interrupted, sizeof fixed.interrupted);
    return *this;
  }
};

/// The example of the kernel's timerlat documentation, with the same figures.
inline Activation example_of_the_documentation() {
  Activation activation{14585,
                        40960,
                        {noise(NOISE_THREAD, 87882, 0, 40000, "cc1"),
                         noise(NOISE_IRQ, 21, 23000, 30139, "qxl"), local_timer(14585, 22182)}};
  return activation.interrupting(87882, "cc1");
}

}  // namespace overdue
