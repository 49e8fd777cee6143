#include "analysis/machine_stop.h"

#include <algorithm>

namespace overdue {
namespace {

using Silence = timerlat_silence;

u64 length_of(const Silence& silence) {
  return silence.end_ns > silence.begin_ns ? silence.end_ns - silence.begin_ns : 0;
}

/// Overlap of two silences; ready if either is.
Silence common(const Silence& a, const Silence& b) {
  return {std::max(a.begin_ns, b.begin_ns), std::min(a.end_ns, b.end_ns), a.flags | b.flags, 0};
}

/// Silences of one stop differ by up to a period of the timer, and by the time that a hypervisor
/// takes to resume one CPU after another.
bool are_the_same(const Silence& a, const Silence& b) {
  return length_of(common(a, b)) >= std::max(length_of(a), length_of(b)) / 4 * 3;
}

/// Overlap of `whole`, a silence of `cpu`, with one silence of each other CPU.
std::optional<Silence> common_to_all(const Silence& whole, u32 cpu,
                                     const std::vector<CpuSilences>& cpus) {
  Silence found = whole;
  for (const auto& [other, silences] : cpus) {
    if (other == cpu) continue;
    const auto same = std::find_if(silences.begin(), silences.end(),
                                   [&](const Silence& each) { return are_the_same(each, whole); });
    if (same == silences.end()) return std::nullopt;
    found = common(found, *same);
  }
  if (length_of(found) == 0) return std::nullopt;
  return found;
}

}  // namespace

std::optional<timerlat_noise> find_machine_stop(const timerlat_activation& activation,
                                                const std::vector<CpuSilences>& cpus) {
  const u32 cpu = activation.header.cpu;
  const auto own = std::find_if(cpus.begin(), cpus.end(),
                                [&](const CpuSilences& each) { return each.cpu == cpu; });
  if (own == cpus.end() || cpus.size() < 2) return std::nullopt;
  const u64 end_ns = std::max<u64>(activation.header.time_ns, activation.user_ns);
  for (const Silence& silence : own->silences) {
    if (silence.end_ns <= activation.expires_ns || silence.begin_ns >= end_ns) continue;
    const auto stop = common_to_all(silence, cpu, cpus);
    if (!stop || !(stop->flags & SILENCE_READY)) continue;
    timerlat_noise noise{};
    noise.begin_ns = stop->begin_ns;
    noise.end_ns = stop->end_ns;
    noise.kind = NOISE_HARDWARE;
    return noise;
  }
  return std::nullopt;
}

}  // namespace overdue
