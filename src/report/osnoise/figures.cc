#include "report/osnoise/figures.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "probes/osnoise/probe.h"
#include "sinks/text_format.h"
#include "target/cpu_list.h"

namespace overdue {

void check(const OsnoisePlan& plan) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw Error("{}", what).hint(std::string(hint)).exit_status(2);
  };
  const std::string period = duration_text(plan.period_ns);
  if (plan.period_ns < 1'000'000 || plan.period_ns > 60'000'000'000)
    refuse(fmt::format("bad period {}: not between 1ms and 60s", period),
           "a period of 1s is the default");
  if (plan.runtime_ns == 0 || plan.runtime_ns > plan.period_ns)
    refuse(fmt::format("bad runtime {}: it is of each period", duration_text(plan.runtime_ns)),
           fmt::format("at most {}", period));
  if (plan.priority < 0 || plan.priority > 99)
    refuse(fmt::format("bad priority {}: not between 1 and 99", plan.priority),
           "without a priority they are ordinary threads");
  // A real-time thread that never sleeps hangs its CPU.
  if (plan.priority > 0 && plan.runtime_ns > plan.period_ns / 100 * 95)
    refuse("real-time threads must leave their CPUs 5 % of each period",
           "a shorter runtime; or leave the priority out");
  if (plan.threshold_ns == 0)
    refuse("a threshold of 0 would take every look at the clock for noise",
           "a threshold of 1us is the default");
}

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
          {"by", std::to_string(static_cast<int>(plan.by))},
          {"origins", std::to_string(plan.origins)}};
}

void choose_rows(OsnoisePlan& plan, std::string_view word) {
  check_whose(word, osnoise_words);
  plan.by = whose_named(word).value_or(Whose::thread);
}

void check_origins(const OsnoisePlan& plan) {
  if (!needs_origins(plan.by) || plan.origins) return;
  throw Error("this recording does not say which {}", plan.by == Whose::cgroup
                                                          ? "cgroups its threads were in"
                                                          : "processes started the others")
      .hint(fmt::format("record with `overdue osnoise --by {} --save`", to_word(plan.by)));
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
  plan.by = static_cast<Whose>(kept_number(info.options, "by", 0, static_cast<int>(Whose::parent)));
  if (std::ranges::find(osnoise_words, to_word(plan.by)) == osnoise_words.end())
    plan.by = Whose::thread;
  plan.origins = kept_number(info.options, "origins", 0, 1) != 0;
  plan.bucket_ns = std::max<std::uint64_t>(1, kept_number(info.options, "bucket_ns", 1000));
  plan.buckets = std::max<std::uint64_t>(1, kept_number(info.options, "buckets", 256, 1'000'000));
  return plan;
}

std::vector<Share> parts_by(std::vector<Share> parts, Whose by) {
  if (by != Whose::name && by != Whose::pattern) return parts;
  std::map<std::string, Share> threads;
  for (const Share& part : parts) {
    if (part.kind != ShareKind::thread || part.number == 0) continue;
    const std::string name = key_of({.tid = part.number, .comm = part.name}, by).comm;
    Share& sum = threads[name];
    sum.kind = ShareKind::thread;
    sum.name = name;
    ++sum.threads;
    sum.count += part.count;
    sum.ns += part.ns;
    sum.max_ns = std::max(sum.max_ns, part.max_ns);
  }
  std::erase_if(
      parts, [](const Share& part) { return part.kind == ShareKind::thread && part.number != 0; });
  for (auto& [name, sum] : threads) parts.push_back(std::move(sum));
  sort_longest_first(parts);
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

NoiseOrigins origins_of(const Record& record) {
  const auto gap = record.as<osnoise_gap>();
  const std::size_t begin = sizeof gap + std::size_t{gap.noises} * sizeof(timerlat_noise);
  if (record.bytes.size() <= begin) return {};
  const std::size_t count =
      std::min<std::size_t>(gap.origins, (record.bytes.size() - begin) / sizeof(noise_origin));
  NoiseOrigins origins;
  for (std::size_t i = 0; i < count; ++i) {
    noise_origin origin{};
    std::memcpy(&origin, record.bytes.data() + begin + i * sizeof origin, sizeof origin);
    origins[origin.tid] = origin;
  }
  return origins;
}

/// A thread without an origin is of unknown parents and cgroups.
void NoiseTally::add_thread(const CauseNoise& each, const NoiseOrigins& origins, Whose by) {
  const auto found = origins.find(each.noise.number);
  const noise_origin known = found == origins.end() ? noise_origin{} : found->second;
  event_header thread{};
  thread.pid = known.pid;
  thread.tid = each.noise.number;
  thread.cgroup_id = known.cgroup_id;
  std::memcpy(thread.comm, each.noise.name, COMM_SIZE);
  const Owner owner =
      key_of(known.of_kernel != 0 ? kernel_owner() : owner_of(thread, known.origin), by);
  Share& share = owners_[owner];
  share.kind = ShareKind::thread;
  ++share.count;
  share.ns += each.net_ns;
  share.max_ns = std::max(share.max_ns, each.net_ns);
  if (known.pid != 0) processes_.add(owner, known.pid, known.origin.start_ns);
}

void NoiseTally::add(const osnoise_gap& gap, const TimerCause& cause, const OsnoisePlan& plan,
                     const NoiseOrigins& origins) {
  for (const CauseNoise& each : cause.noises)
    if (each.noise.kind == NOISE_THREAD && each.noise.number != 0 && needs_origins(plan.by))
      add_thread(each, origins, plan.by);
    else
      shares_.count(share_kind(each.noise.kind), each.noise.number, noise_name(each.noise),
                    each.net_ns);
  if (gap.flags & OSNOISE_UNSEEN)
    shares_.count(ShareKind::thread, 0, "", cause.parts.unexplained_ns);
  else if (gap.interferences == 0)
    shares_.count(ShareKind::hardware, 0, "", cause.parts.unexplained_ns);
  if (!plan.histogram) return;
  if (histogram_.counts().empty()) histogram_ = EvenHistogram(plan.bucket_ns, plan.buckets);
  histogram_.add(gap.noise_ns);
}

void NoiseTally::merge(const NoiseTally& other) {
  shares_.merge(other.shares_);
  for (const auto& [owner, more] : other.owners_) {
    Share& share = owners_[owner];
    share.kind = more.kind;
    share.count += more.count;
    share.ns += more.ns;
    share.max_ns = std::max(share.max_ns, more.max_ns);
  }
  processes_.merge(other.processes_);
  if (histogram_.counts().empty())
    histogram_ = other.histogram_;
  else
    histogram_.merge(other.histogram_);
}

std::vector<NoisePart> NoiseTally::parts(Whose by, const Names& names) const {
  std::vector<NoisePart> parts;
  for (Share& share : parts_by(shares_.longest_first(), by))
    parts.push_back({std::move(share), std::nullopt, 0});
  for (const auto& [owner, share] : owners_)
    parts.push_back({share, owner, processes_.count(owner)});
  std::ranges::sort(parts, [](const NoisePart& one, const NoisePart& other) {
    return std::tie(other.ns, one.kind, one.number, one.name, one.owner) <
           std::tie(one.ns, other.kind, other.number, other.name, other.owner);
  });
  if (by == Whose::cgroup) resolve_cgroups(parts, names);
  return parts;
}

std::uint64_t NoiseTally::parts_ns() const {
  std::uint64_t sum = shares_.explained_ns();
  for (const auto& [owner, share] : owners_) sum += share.ns;
  return sum;
}

void resolve_cgroups(std::vector<NoisePart>& parts, const Names& names) {
  for (NoisePart& part : parts)
    if (part.owner) resolve_cgroup(*part.owner, names);
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
