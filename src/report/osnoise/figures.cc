#include "report/osnoise/figures.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

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
          {"buckets", std::to_string(plan.buckets)},
          {"by", std::to_string(static_cast<int>(plan.by))}};
}

void choose_rows(OsnoisePlan& plan, std::string_view word) {
  check_whose(word, osnoise_words);
  plan.by = whose_named(word).value_or(Whose::thread);
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
  plan.by =
      static_cast<Whose>(kept_number(info.options, "by", 0, static_cast<int>(Whose::pattern)));
  plan.bucket_ns = std::max<std::uint64_t>(1, kept_number(info.options, "bucket_ns", 1000));
  plan.buckets = std::max<std::uint64_t>(1, kept_number(info.options, "buckets", 256, 1'000'000));
  return plan;
}

std::vector<NoiseShare> parts_by(std::vector<NoiseShare> parts, Whose by) {
  if (by == Whose::thread) return parts;
  std::map<std::string, NoiseShare> threads;
  for (const NoiseShare& part : parts) {
    if (part.kind != NOISE_THREAD || part.number == 0) continue;
    const std::string name = key_of({.tid = part.number, .comm = part.name}, by).comm;
    NoiseShare& sum = threads[name];
    sum.kind = NOISE_THREAD;
    sum.name = name;
    ++sum.threads;
    sum.count += part.count;
    sum.ns += part.ns;
    sum.max_ns = std::max(sum.max_ns, part.max_ns);
  }
  std::erase_if(
      parts, [](const NoiseShare& part) { return part.kind == NOISE_THREAD && part.number != 0; });
  for (auto& [name, sum] : threads) parts.push_back(std::move(sum));
  std::ranges::sort(parts, [](const NoiseShare& one, const NoiseShare& other) {
    return std::tie(other.ns, one.kind, one.number, one.name) <
           std::tie(one.ns, other.kind, other.number, other.name);
  });
  return parts;
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

void NoiseTally::add(const osnoise_gap& gap, const TimerCause& cause, const OsnoisePlan& plan) {
  for (const CauseNoise& each : cause.noises)
    shares_.count(each.noise.kind, each.noise.number, noise_name(each.noise), each.net_ns);
  if (gap.flags & OSNOISE_UNSEEN)
    shares_.count(NOISE_THREAD, 0, "", cause.residual_ns);
  else if (gap.interferences == 0)
    shares_.count(NOISE_HARDWARE, 0, "", cause.residual_ns);
  if (!plan.histogram) return;
  if (histogram_.counts().empty()) histogram_ = EvenHistogram(plan.bucket_ns, plan.buckets);
  histogram_.add(gap.noise_ns);
}

void NoiseTally::merge(const NoiseTally& other) {
  shares_.merge(other.shares_);
  if (histogram_.counts().empty())
    histogram_ = other.histogram_;
  else
    histogram_.merge(other.histogram_);
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
