#include "report/trace_lines.h"

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {

std::string trace_line_head(std::string_view comm, std::uint32_t tid, std::uint32_t cpu,
                            std::string_view flags, std::uint64_t time_ns) {
  const std::uint64_t us = time_ns / 1000;
  const std::string name = tid == 0 ? "<idle>" : printable(comm);
  return fmt::format("{:>14}-{:<8}[{:03}] {} {:>5}.{:06}: ", name, tid, cpu, flags, us / 1'000'000,
                     us % 1'000'000);
}

std::string noise_text(const CauseNoise& each) {
  const timerlat_noise& noise = each.noise;
  const std::string name = printable(noise_name(noise));
  std::string what;
  if (noise.kind == NOISE_NMI)
    what = "nmi_noise:";
  else if (noise.kind == NOISE_IRQ || noise.kind == NOISE_VECTOR)
    what = fmt::format("irq_noise: {}:{}", name, noise.number);
  else
    what = fmt::format("{}_noise: {:>8}:{}", noise_kind_name(share_kind(noise.kind)), name,
                       noise.number);
  return fmt::format("{} start {}.{:09} duration {} ns\n", what, noise.begin_ns / 1'000'000'000,
                     noise.begin_ns % 1'000'000'000, each.net_ns);
}

void TraceLines::add_noises(const std::vector<CauseNoise>& noises, std::uint32_t cpu,
                            std::string_view comm, std::uint32_t tid) {
  for (const CauseNoise& each : noises) {
    const timerlat_noise& noise = each.noise;
    std::string_view who = comm;
    std::uint32_t who_tid = tid;
    for (const CauseNoise& other : noises) {
      if (other.noise.kind != NOISE_THREAD || other.noise.begin_ns > noise.begin_ns ||
          other.noise.end_ns < noise.end_ns)
        continue;
      who = fixed_text(other.noise.name);
      who_tid = other.noise.number;
    }
    add(noise.end_ns,
        trace_line_head(who, who_tid, cpu, unknown_flags, noise.end_ns) + noise_text(each));
  }
}

std::string TraceLines::take(std::uint64_t until_ns) {
  std::string text;
  const auto end = lines_.lower_bound(until_ns);
  for (auto line = lines_.begin(); line != end; ++line) text += line->second;
  lines_.erase(lines_.begin(), end);
  return text;
}

}  // namespace overdue
