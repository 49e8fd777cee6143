#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "bpf/osnoise.h"

namespace overdue {

/// Room for the largest record of a noise. The origins follow the last of its noises.
struct GapRecord {
  osnoise_gap gap;
  timerlat_noise noises[OSNOISE_NOISES_MAX];
  noise_origin more[OSNOISE_NOISES_MAX];

  std::size_t size() const {
    return sizeof gap + gap.noises * sizeof(timerlat_noise) + gap.origins * sizeof(noise_origin);
  }
  std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(this), size()};
  }
  /// Adds the latest noises of the CPU, `gap.noises` of them, up to number `end`.
  void add_noises(const osnoise_cpu& cpu, u32 end) {
    for (u32 i = 0; i < gap.noises; ++i) noises[i] = cpu.noises[place(end, i)];
  }
  /// Adds the origins of the threads among these.
  void add_origins(const osnoise_cpu& cpu, u32 end) {
    for (u32 i = 0; i < gap.noises; ++i) {
      if (noises[i].kind != NOISE_THREAD) continue;
      std::memcpy(reinterpret_cast<std::byte*>(this) + size(), &cpu.origins[place(end, i)],
                  sizeof(noise_origin));
      ++gap.origins;
    }
  }

 private:
  u32 place(u32 end, u32 i) const { return (end - gap.noises + i) & (OSNOISE_NOISES_MAX - 1); }
};

}  // namespace overdue
