#include "probes/profile/probe.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>

#include "kernel/skeleton.h"
#include "profile.skel.h"

namespace overdue {
namespace {

/// Sampling may not be faster than this on any CPU, by /proc/sys/kernel/perf_event_max_sample_rate.
constexpr const char* too_fast_hint =
    "a lower -F, or a higher kernel.perf_event_max_sample_rate (sysctl)";

perf_event_attr attributes_of(profile_event event, std::uint32_t rate_hz) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  if (event == PROFILE_CPU_CYCLES) {
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  }
  attributes.sample_freq = rate_hz;
  attributes.freq = 1;
  attributes.disabled = 1;
  return attributes;
}

/// The program's own layout of its counts.
struct Counts {
  u64 samples, idle, others;
};

}  // namespace

std::string_view to_word(profile_event event) {
  return profile_events[event - PROFILE_CPU_CLOCK];
}

std::optional<profile_event> profile_event_named(std::string_view word) {
  const auto found = std::ranges::find(profile_events, word);
  if (found == profile_events.end()) return std::nullopt;
  return static_cast<profile_event>(PROFILE_CPU_CLOCK + (found - profile_events.begin()));
}

struct ProfileProbe::Impl {
  explicit Impl(const ProfileOptions& wanted) : options(wanted) {}

  ProfileOptions options;
  Skeleton<profile_bpf> bpf{"profile"};
  std::vector<Link> links;
  std::vector<std::uint32_t> cpus;  ///< those that are sampled

  void load(const SharedMaps& shared);
  void attach_all();
  std::vector<Counts> counts() const;
};

void ProfileProbe::Impl::load(const SharedMaps& shared) {
  share_maps(bpf->obj, shared);
  bpf->rodata->user_stack_bytes =
      static_cast<u32>(std::min<std::size_t>(options.user_stack_bytes, USER_STACK_MAX));
  check(bpf_map__set_max_entries(bpf->maps.profile_scratch, possible_cpu_count()),
        "cannot size a map");
  bpf.load();
}

void ProfileProbe::Impl::attach_all() {
  std::vector<std::uint32_t> wanted = options.cpus;
  for (u32 cpu = 0; options.cpus.empty() && cpu < possible_cpu_count(); ++cpu)
    wanted.push_back(cpu);
  for (const std::uint32_t cpu : wanted) {
    Link link =
        attach_to_cpu(bpf->progs.take_sample, attributes_of(options.event, options.rate_hz), cpu);
    if (!link && (errno == ENODEV || errno == ENXIO)) continue;  // offline, or not there
    if (!link)
      throw Error("cannot sample CPU {} at {} Hz: {}", cpu, options.rate_hz, errno_text(errno))
          .hint(errno == EINVAL ? too_fast_hint : "overdue doctor says what is missing");
    links.push_back(std::move(link));
    cpus.push_back(cpu);
  }
  if (links.empty()) throw Error("none of the CPUs to sample is online");
}

std::vector<Counts> ProfileProbe::Impl::counts() const {
  std::vector<Counts> by_cpu(possible_cpu_count());
  const u32 zero = 0;
  check(bpf_map_lookup_elem(bpf_map__fd(bpf->maps.profile_counts), &zero, by_cpu.data()),
        "cannot read the counts of samples");
  return by_cpu;
}

ProfileProbe::ProfileProbe(const ProfileOptions& options, const SharedMaps& shared)
    : impl_(std::make_unique<Impl>(options)) {
  impl_->load(shared);
  impl_->attach_all();
}

ProfileProbe::~ProfileProbe() = default;

void ProfileProbe::finish(KernelTime end, const RecordHandler& handler) {
  impl_->links.clear();
  const std::vector<Counts> counts = impl_->counts();
  for (const std::uint32_t cpu : impl_->cpus) {
    profile_cpu record{};
    record.header.time_ns = static_cast<u64>(end.time_since_epoch().count());
    record.header.kind = RECORD_PROFILE_CPU;
    record.header.size = sizeof record;
    record.header.cpu = cpu;
    record.samples = counts[cpu].samples;
    record.idle = counts[cpu].idle;
    record.others = counts[cpu].others;
    record.rate_hz = impl_->options.rate_hz;
    record.event = impl_->options.event;
    handler({&profile_cpu_schema, std::as_bytes(std::span(&record, 1))});
  }
}

const Schema* ProfileProbe::schema(std::uint16_t kind) const {
  return kind == RECORD_PROFILE_SAMPLE ? &profile_sample_schema : nullptr;
}

Counters ProfileProbe::counters() const {
  return read_counters(impl_->bpf->obj);
}

}  // namespace overdue
