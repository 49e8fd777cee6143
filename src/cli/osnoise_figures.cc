#include "cli/osnoise_figures.h"

#include <algorithm>

#include <fmt/format.h>

namespace overdue {

std::string_view noise_part_kind(u32 kind) {
  return kind == hardware_noise ? "hardware" : noise_kind_name(kind);
}

void NoiseTally::add_part(u32 kind, u32 number, const std::string& name, std::uint64_t ns) {
  NoisePart& part = parts_
                        .try_emplace({kind, number, name},
                                     NoisePart{.kind = kind, .number = number, .name = name})
                        .first->second;
  ++part.count;
  part.ns += ns;
  part.max_ns = std::max(part.max_ns, ns);
}

void NoiseTally::add(const osnoise_gap& gap, const TimerCause& cause, const OsnoisePlan& plan) {
  for (const CauseNoise& each : cause.noises)
    add_part(each.noise.kind, each.noise.number, noise_name(each.noise), each.net_ns);
  if (gap.flags & OSNOISE_UNSEEN)
    add_part(NOISE_THREAD, 0, "", cause.residual_ns);
  else if (gap.interferences == 0)
    add_part(hardware_noise, 0, "", cause.residual_ns);
  if (!plan.histogram) return;
  counts_.resize(plan.buckets + 1);
  ++counts_[std::min<std::uint64_t>(gap.noise_ns / plan.bucket_ns, plan.buckets)];
}

void NoiseTally::merge(const NoiseTally& other) {
  for (const auto& [key, more] : other.parts_) {
    NoisePart& part =
        parts_
            .try_emplace(key,
                         NoisePart{.kind = more.kind, .number = more.number, .name = more.name})
            .first->second;
    part.count += more.count;
    part.ns += more.ns;
    part.max_ns = std::max(part.max_ns, more.max_ns);
  }
  counts_.resize(std::max(counts_.size(), other.counts_.size()));
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
}

std::vector<NoisePart> NoiseTally::parts() const {
  std::vector<NoisePart> all;
  for (const auto& [key, part] : parts_) all.push_back(part);
  std::sort(all.begin(), all.end(), [](const NoisePart& a, const NoisePart& b) {
    return std::tie(b.ns, a.kind, a.number, a.name) < std::tie(a.ns, b.kind, b.number, b.name);
  });
  return all;
}

std::uint64_t NoiseTally::parts_ns() const {
  std::uint64_t sum = 0;
  for (const auto& [key, part] : parts_) sum += part.ns;
  return sum;
}

void OsnoiseCpu::add(const osnoise_sample& sample) {
  ++samples;
  runtime_ns += sample.runtime_ns;
  noise_ns += sample.noise_ns;
  max_noise_ns = std::max<std::uint64_t>(max_noise_ns, sample.noise_ns);
  max_single_ns = std::max<std::uint64_t>(max_single_ns, sample.max_ns);
  hw += sample.hw;
  nmi += sample.nmi;
  irq += sample.irq;
  softirq += sample.softirq;
  thread += sample.thread;
  tally.merge(open);
  open = {};
}

std::uint64_t OsnoiseCpu::available() const {
  if (runtime_ns == 0) return 0;
  const std::uint64_t net_ns = runtime_ns > noise_ns ? runtime_ns - noise_ns : 0;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(net_ns) * 10'000'000 /
                                    runtime_ns);
}

std::uint64_t OsnoiseCpu::residual_ns() const {
  const std::uint64_t known_ns = tally.parts_ns();
  return noise_ns > known_ns ? noise_ns - known_ns : 0;
}

std::string available_text(std::uint64_t available) {
  return fmt::format("{}.{:05}", available / 100'000, available % 100'000);
}

}  // namespace overdue
