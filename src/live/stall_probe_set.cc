#include "live/stall_probe_set.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "core/span_kinds.h"
#include "kernel/thresholds.h"
#include "probes/disks/probe.h"
#include "probes/pairs/hook.h"
#include "probes/profile/probe.h"
#include "probes/spans.h"
#include "sinks/text_format.h"
#include "syscalls/wait_reasons.h"

namespace overdue {
namespace {

/// Of a fast call, a percentile is less than a microsecond: shorter waits explain nothing, and
/// every wait of the machine would be recorded.
constexpr Duration first_least_wait = std::chrono::microseconds(20);
constexpr int looks_per_timeout = 4;
constexpr Duration between_looks = std::chrono::milliseconds(100);
/// Looks take at most one part in so many of a CPU, unless they would be too far apart.
constexpr int looks_part = 200;
constexpr Duration most_between_looks = std::chrono::seconds(2);

}  // namespace

Support StallProbeSet::support(const Kernel& kernel) const {
  std::optional<Support> lacking;  // of kinds of which one is enough
  bool has_one = false;
  for (const span_kind kind : options_.spans.kinds) {
    Support support = kind == SPAN_PAIR ? pairs_probe.support(kernel) : span_support(kernel, kind);
    has_one = has_one || support.yes;
    if (support.yes) continue;
    if (!options_.spans.is_optional(kind) || kind == SPAN_SYSCALL || kind == SPAN_PAIR)
      return support;
    if (!lacking) lacking = std::move(support);
  }
  if (!has_one && lacking) return *lacking;
  for (const PairSpec& pair : options_.spans.pairs)
    if (Support support = pair_support(pair, kernel); !support.yes) return support;
  return {};
}

void StallProbeSet::choose(const Kernel& kernel) {
  std::vector<span_kind>& kinds = options_.spans.kinds;
  std::erase_if(kinds, [&](span_kind kind) {
    if (kind == SPAN_SYSCALL || kind == SPAN_PAIR) return false;  // loading gives a better reason
    const Support support = span_support(kernel, kind);
    if (support.yes) return false;
    const std::string what = fmt::format("measure spans of the kind {}", span_name(kind));
    if (!options_.spans.is_optional(kind)) require_support(what, support);
    left_out_.push_back(fmt::format("this kernel cannot {}: {}", what, support.missing));
    return true;
  });
}

std::size_t StallProbeSet::ring_bytes() const {
  return options_.ring_bytes > 0 ? options_.ring_bytes : default_ring_bytes();
}

void StallProbeSet::add_syscalls(Session& session, const std::vector<std::uint32_t>& cpus) {
  SyscallsOptions calls;
  calls.aggregate = calls.by_thread = options_.call_sums;
  calls.calls = options_.every_call;
  calls.stalls = options_.spans.has(SPAN_SYSCALL);
  calls.hangs = options_.timeout.has_value();
  calls.user_stack_bytes = options_.user_stack_bytes;
  calls.only = options_.only;
  calls.cpus = cpus;
  auto probe = std::make_unique<SyscallsProbe>(calls, calls.stalls ? sched_->maps() : maps());
  syscalls_ = probe.get();
  session.add(std::move(probe));
}

void StallProbeSet::add_spans(Session& session, const Kernel& kernel,
                              const std::vector<std::uint32_t>& cpus) {
  const SpanKinds wanted = options_.spans.kind_set();
  for (const SpanSource* source : span_sources()) {
    const SpanKinds kinds = source->kinds() & wanted;
    if (kinds == 0) continue;
    const SpanOptions options{.whole_machine = options_.whole_machine,
                              .kinds = kinds,
                              .cpus = cpus,
                              .user_stack_bytes = options_.user_stack_bytes};
    session.add(source->make(options, sched_ ? sched_->maps() : maps(), kernel));
  }
}

void StallProbeSet::add_pairs(Session& session, const Kernel& kernel,
                              const std::vector<std::uint32_t>& cpus) {
  const std::vector<PairSpec>& pairs = options_.spans.pairs;
  if (pairs.empty()) return;
  auto probe =
      std::make_unique<PairsProbe>(PairsOptions{.pairs = pairs,
                                                .whole_machine = options_.whole_machine,
                                                .cpus = cpus,
                                                .user_stack_bytes = options_.user_stack_bytes},
                                   sched_->maps(), kernel, *options_.finder);
  pairs_ = probe.get();
  session.add(std::move(probe));
}

/// Without samples, all but the functions on the CPU is still known.
void StallProbeSet::add_profile(Session& session, const Kernel& kernel,
                                const std::vector<std::uint32_t>& cpus) {
  if (const Support support = profile_probe.support(kernel); !support.yes) {
    left_out_.push_back(fmt::format("this kernel cannot sample CPUs: {}", support.missing));
    return;
  }
  session.add(std::make_unique<ProfileProbe>(
      ProfileOptions{.user_stack_bytes = options_.user_stack_bytes, .cpus = cpus},
      session.membership().maps()));
}

/// Without it, a wait for a disk is still one for that disk.
void StallProbeSet::add_disk_use(Session& session, const Kernel& kernel) {
  if (const Support support = disks_probe.support(kernel); support.yes)
    session.add(std::make_unique<DisksProbe>(session.membership().maps()));
  else
    left_out_.push_back(
        fmt::format("this kernel cannot tell who uses a disk: {}", support.missing));
}

SharedMaps StallProbeSet::maps() const {
  SharedMaps maps = membership_->maps();
  if (percentiles_) percentiles_->add_to(maps);
  if (sums_) sums_->add_to(maps);
  return maps;
}

void StallProbeSet::add_to(Session& session, const Kernel& kernel,
                           const std::vector<std::uint32_t>& cpus) {
  choose(kernel);
  session_ = &session;
  membership_ = &session.membership();
  if (!options_.thresholds.percentiles.empty()) {
    percentiles_ = std::make_unique<PercentileThresholds>(options_.thresholds, options_.spans);
    least_wait_ = first_least_wait;
  }
  if (options_.span_sums) {
    auto sums = std::make_unique<SpanSums>(membership_->control(), options_.spans.kind_set(),
                                           options_.sums_by_thread);
    sums_ = sums.get();
    session.add(std::move(sums));
  }
  if (look_at_switches()) {
    SchedOptions waits{
        .sample_bytes = options_.explains ? options_.user_stack_bytes : 0,
        .keeps_totals = options_.totals,
        .keeps_behind = options_.behind,
        .keeps_cpu_totals = options_.cpu_totals,
        .call_reasons = options_.call_sums ? wait_reasons_of_calls() : std::vector<std::uint8_t>{},
        .cpus = options_.totals || options_.span_sums ? cpus : std::vector<std::uint32_t>{},
        .use_task_work = kernel.task_work().yes,
        .use_vectors = kernel.interrupt_vectors().yes,
        .use_throttles = kernel.throttles().yes};
    // Only the thread itself can report its way back from a call: through task work, since the way
    // back comes after the exit.
    if (options_.spans.has(SPAN_OFFCPU) || options_.spans.has(SPAN_WAKEUP) ||
        (options_.spans.has(SPAN_SYSCALL) && waits.use_task_work))
      waits.user_stack_bytes = options_.user_stack_bytes;
    auto sched = std::make_unique<SchedProbe>(maps(), waits);
    sched_ = sched.get();
    session.add(std::move(sched));
  }
  if (options_.spans.has(SPAN_SYSCALL) || options_.every_call) add_syscalls(session, cpus);
  add_spans(session, kernel, cpus);
  add_pairs(session, kernel, cpus);
  if (options_.profiles) add_profile(session, kernel, cpus);
  if (options_.disk_use) add_disk_use(session, kernel);
  // Totals and sums have the exact time of each wake-up.
  if (sched_ != nullptr && !options_.totals && !options_.span_sums) {
    session_control& control = membership_->control();
    control.quiet_from_ns = KernelClock::now_ns();
    control.quiet_ns = static_cast<u64>(sched_->quiet_time().count());
  }
  store_thresholds();
}

bool StallProbeSet::look_at_switches() const {
  const std::vector<span_kind>& kinds = options_.spans.kinds;
  return std::any_of(kinds.begin(), kinds.end(), is_explained_by_waits);
}

std::uint64_t StallProbeSet::events_in(const Record& record) const {
  const std::uint16_t kind = record.schema->id;
  if (kind == RECORD_SPAN || kind == RECORD_SCHED_WAIT || kind == RECORD_SCHED_WAKE) ++records_;
  if (kind == RECORD_SPAN) ++late_;
  if (kind == RECORD_SYSCALL_CALL)  // BPF counts the calls of which some are stalls
    return options_.every_call && !options_.spans.has(SPAN_SYSCALL) ? 1 : 0;
  if (kind != RECORD_SPAN) return 0;
  const auto span = record.as<span_record>();
  if (options_.adapts) rising_.count(span);
  return span.span != SPAN_SYSCALL && span.flags & SPAN_OPEN ? 1 : 0;  // BPF counts the others
}

std::vector<std::pair<std::string, std::string>> StallProbeSet::settings() const {
  if (!on_change) return {};
  std::vector<std::pair<std::string, std::string>> all{{"threshold", to_text(options_.thresholds)}};
  if (options_.timeout) all.emplace_back("timeout", format_duration(*options_.timeout));
  return all;
}

void StallProbeSet::set(const std::vector<std::string_view>& words) {
  if (!on_change) return ProbeSet::set(words);
  if (words[0] == "timeout") {
    if (!options_.timeout) throw Error("this session was begun without --timeout");
    if (words.size() != 2) throw Error("set timeout TIME");
    const Duration timeout = parse_duration(words[1], "timeout");
    if (timeout == Duration(0)) throw Error("a timeout of 0 would find every call open");
    options_.timeout = timeout;
    next_look_ = KernelTime{};
  } else {
    const bool is_list = words[0] == "threshold";
    if (is_list && words.size() < 2) throw Error("set threshold TIME");
    const std::vector<std::string> pairs = options_.spans.pair_names();
    Thresholds changed = options_.thresholds;
    for (const std::string_view word : std::span(words).subspan(is_list ? 1 : 0)) {
      if (!is_list && word.find('=') == word.npos)
        throw Error("nothing here is called '{}'", printable(word));
      change_thresholds(changed, word, pairs);
    }
    changed.check(options_.spans.kinds, pairs);
    for (const span_kind kind : options_.spans.kinds)
      if (changed.has_percentile(kind) && !(percentiles_ && percentiles_->counts(kind)))
        throw Error("this session does not count {}: begin it with -T {}=p99", span_name(kind),
                    span_name(kind));
    options_.thresholds = std::move(changed);
    if (percentiles_) percentiles_->change(options_.thresholds);
    options_.adapts = false;
    store_thresholds();
  }
  on_change(KernelClock::now());
}

void StallProbeSet::armed(KernelTime start) {
  if (options_.timeout) next_look_ = start;
  if (options_.adapts || percentiles_) next_count_ = start;
  if (percentiles_) percentiles_->armed(start);
}

/// A look walks all threads of the machine: a few times per timeout is enough, and fewer if the
/// machine has very many.
void StallProbeSet::poll(KernelTime now, const RecordHandler& handler) {
  if (now >= next_count_ && percentiles_) {
    next_count_ = now + RecordLimit::between_counts;
    const bool other_waits = adapt_percentiles();
    if (percentiles_->choose(now) || other_waits) store_thresholds();
    percentiles_->report(now, handler);
  } else if (now >= next_count_) {
    adapt(now);
  }
  if (!options_.timeout || now < next_look_) return;
  const KernelTime begin = KernelClock::now();
  // Waits that explain an open call may still be in the rings.
  syscalls_->look_for_hangs(*options_.timeout,
                            [this](const Record& record) { session_->insert(record); });
  const Duration rest = looks_part * (KernelClock::now() - begin);
  next_look_ = now + std::max({*options_.timeout / looks_per_timeout, between_looks,
                               std::min(rest, most_between_looks)});
}

void StallProbeSet::finish(const RecordHandler& handler) {
  if (percentiles_) percentiles_->report_all(KernelClock::now(), handler);
}

Duration StallProbeSet::poll_every() const {
  return std::chrono::milliseconds(options_.every_call ? 10 : 20);
}

std::vector<std::string> StallProbeSet::notes() const {
  std::vector<std::string> notes = left_out_;
  notes.insert(notes.end(), options_.notes.begin(), options_.notes.end());
  if (const auto threshold = options_.thresholds.general; options_.adapts && threshold)
    notes.push_back(fmt::format("operations of {} and longer were examined one by one{}",
                                duration_text(static_cast<std::uint64_t>(threshold->count())),
                                rising_.text()));
  if (!syscalls_) return notes;
  if (options_.timeout && !syscalls_->hangs_have_user_stacks())
    notes.emplace_back("this kernel cannot read the user stacks of calls that are still open");
  if (const std::uint64_t calls = syscalls_->counters()[COUNTER_TEXT_UNREAD])
    notes.push_back(fmt::format(
        "calls with a string argument that could not be read and is shown as its address: {}",
        calls));
  return notes;
}

}  // namespace overdue
