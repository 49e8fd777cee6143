#include "cli/osnoise_json.h"

namespace overdue {
namespace {

using Elements = JsonWriter::Elements;

void write_noise_parts(JsonWriter& json, const std::vector<NoisePart>& parts) {
  json.key("parts");
  json.begin_array();
  for (const NoisePart& part : parts) {
    json.begin_object();
    json.member("kind", noise_part_kind(part.kind));
    json.member("name", part.name);
    json.member(part.kind == NOISE_THREAD ? "tid" : "number", std::uint64_t{part.number});
    json.member("count", part.count);
    json.member("ns", part.ns);
    json.member("max_ns", part.max_ns);
    json.end_object();
  }
  json.end_array();
}

void write_pause_histogram(JsonWriter& json, const NoiseTally& tally, const OsnoisePlan& plan) {
  json.key("histogram");
  json.begin_array();
  for (const auto& [bucket, count] : tally.counts()) {
    json.begin_array();
    json.value(std::uint64_t{bucket * plan.bucket_ns});
    if (bucket < plan.buckets)
      json.value(std::uint64_t{(bucket + 1) * plan.bucket_ns});
    else
      json.null();
    json.value(count);
    json.end_array();
  }
  json.end_array();
}

void write_noise_stop(JsonWriter& json, const OsnoiseStop& stop) {
  json.begin_object(Elements::below);
  json.member("cpu", std::uint64_t{stop.cpu});
  json.member("time_ns", stop.time_ns);
  json.member("of", stop.single ? "single" : "total");
  json.member("limit_ns", stop.limit_ns);
  json.member("noise_ns", stop.noise_ns);
  write_noise_parts(json, stop.parts);
  json.member("residual_ns", stop.residual_ns);
  json.member("complete", stop.complete);
  json.end_object(Elements::below);
}

}  // namespace

void write_noise_cpus(JsonWriter& json, const OsnoisePlan& plan, std::span<const OsnoiseCpu> cpus) {
  json.key("cpus");
  json.begin_array(Elements::below);
  for (const OsnoiseCpu& cpu : cpus) {
    json.begin_object();
    json.member("cpu", std::uint64_t{cpu.cpu});
    json.member("samples", cpu.samples);
    json.member("runtime_ns", cpu.runtime_ns);
    json.member("noise_ns", cpu.noise_ns);
    json.member("percent_available", static_cast<double>(cpu.available()) / 100'000);
    json.member("max_noise_ns", cpu.max_noise_ns);
    json.member("max_single_ns", cpu.max_single_ns);
    json.member("hw", cpu.hw);
    json.member("nmi", cpu.nmi);
    json.member("irq", cpu.irq);
    json.key("softirq");
    if (plan.counts_softirqs)
      json.value(cpu.softirq);
    else
      json.null();
    json.member("thread", cpu.thread);
    write_noise_parts(json, cpu.tally.parts());
    json.member("residual_ns", cpu.residual_ns());
    if (plan.histogram) write_pause_histogram(json, cpu.tally, plan);
    json.end_object();
  }
  json.end_array(Elements::below);
}

void write_osnoise(JsonWriter& json, const OsnoisePlan& plan, std::span<const OsnoiseCpu> cpus,
                   const OsnoiseStop* stop) {
  json.key("osnoise");
  json.begin_object();
  json.member("period_ns", plan.period_ns);
  json.member("runtime_ns", plan.runtime_ns);
  json.member("threshold_ns", plan.threshold_ns);
  json.member("priority", static_cast<std::uint64_t>(plan.priority));
  json.end_object();
  write_noise_cpus(json, plan, cpus);
  json.member_or_null("cause", stop,
                      [&](const OsnoiseStop& cause) { write_noise_stop(json, cause); });
}

}  // namespace overdue
