#include "report/osnoise/figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "probes/osnoise/probe.h"
#include "target/cpu_list.h"

namespace overdue {

KeptOptions kept_options(const OsnoisePlan& plan) {
  return {{"cpus", format_cpu_list(plan.cpus)},
          {"period_ns", std::to_string(plan.period_ns)},
          {"runtime_ns", std::to_string(plan.runtime_ns)},
          {"threshold_ns", std::to_string(plan.threshold_ns)},
          {"priority", std::to_string(plan.priority)},
          {"stop_single_ns", std::to_string(plan.stop_single_ns)},
          {"stop_total_ns", std::to_string(plan.stop_total_ns)},
          {"counts_softirqs", std::to_string(plan.counts_softirqs)},
          {"bucket_ns", std::to_string(plan.bucket_ns)},
          {"buckets", std::to_string(plan.buckets)}};
}

OsnoisePlan kept_osnoise_plan(const SessionInfo& info) {
  OsnoisePlan plan;
  plan.cpus = kept_cpus(info.options, "cpus");
  plan.period_ns = kept_number(info.options, "period_ns", plan.period_ns);
  plan.runtime_ns = kept_number(info.options, "runtime_ns", plan.runtime_ns);
  plan.threshold_ns = kept_number(info.options, "threshold_ns", plan.threshold_ns);
  plan.priority = static_cast<int>(kept_number(info.options, "priority", 0, 99));
  plan.stop_single_ns = kept_number(info.options, "stop_single_ns", 0);
  plan.stop_total_ns = kept_number(info.options, "stop_total_ns", 0);
  plan.counts_softirqs = kept_number(info.options, "counts_softirqs", 1) != 0;
  plan.bucket_ns = std::max<std::uint64_t>(1, kept_number(info.options, "bucket_ns", 1000));
  plan.buckets = std::max<std::uint64_t>(1, kept_number(info.options, "buckets", 256, 1'000'000));
  return plan;
}

const Schema& osnoise_sample_of_tracer() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> known;
    for (const Field& field : osnoise_sample_schema.fields)
      if (field.name != "inner_ns" && field.name != "outer_ns") known.push_back(field);
    return known;
  }();
  static const Schema schema = [] {
    Schema made = osnoise_sample_schema;
    made.fields = fields;
    return made;
  }();
  return schema;
}

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
  if (histogram_.counts().empty()) histogram_ = EvenHistogram(plan.bucket_ns, plan.buckets);
  histogram_.add(gap.noise_ns);
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
  if (histogram_.counts().empty())
    histogram_ = other.histogram_;
  else
    histogram_.merge(other.histogram_);
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
