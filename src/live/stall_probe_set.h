#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "kernel/span_sums.h"
#include "live/percentile_thresholds.h"
#include "live/record_limit.h"
#include "live/rising_calls.h"
#include "live/span_choice.h"
#include "probes/pairs/probe.h"
#include "probes/sched/probe.h"
#include "probes/syscalls/probe.h"
#include "report/stalls/thresholds.h"
#include "source/probe_set.h"

namespace overdue {

struct StallOptions {
  std::string_view purpose = "find stalls";  ///< as ProbeSet::purpose()
  Thresholds thresholds;
  SpanChoice spans;             ///< spans to look for
  bool explains = true;         ///< false: spans are counted, and nothing explains them
  bool every_call = false;      ///< also a record for each system call, however short
  bool totals = false;          ///< also sums of the waits of each thread
  bool behind = false;          ///< with `totals`: also who had the CPU while woken ones wait
  bool cpu_totals = false;      ///< with `totals`: also by CPU
  bool call_sums = false;       ///< also sums of the system calls of each process
  bool span_sums = false;       ///< sums of the spans by kind and name, and no record for each
  bool sums_by_thread = false;  ///< with `span_sums`: also by thread
  bool profiles = false;        ///< also samples of the target's threads on CPUs
  bool disk_use = false;        ///< also what each process of the machine asks of each disk
  /// While more is late than can be examined at little cost, the shortest recorded wait and then
  /// the general threshold double.
  bool adapts = false;
  bool whole_machine = false;       ///< the target is all threads, and spans of no thread
  std::optional<SyscallSet> only;   ///< calls of -e; nothing: all
  std::optional<Duration> timeout;  ///< age from which open calls are reported
  std::size_t user_stack_bytes = 16 << 10;
  std::size_t ring_bytes = 0;                ///< size of each CPU's ring; 0: the default
  std::shared_ptr<EventFinder> finder = {};  ///< finds programs' events of user spans
  std::vector<std::string> notes = {};       ///< about user spans, as ProbeSet::notes()
};

/// The probe set of `stalls`, `spans` and `record`: spans at or over their threshold, and the
/// records that explain them; optionally all system calls.
class StallProbeSet final : public ProbeSet {
 public:
  explicit StallProbeSet(StallOptions options) : options_(std::move(options)) {}

  std::string_view purpose() const override { return options_.purpose; }
  Support support(const Kernel& kernel) const override;
  std::size_t ring_bytes() const override;
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::uint64_t events_in(const Record& record) const override;
  std::uint64_t events() const override { return sched_ ? sched_->calls() : 0; }
  bool look_at_switches() const override;
  bool sees_any_program() const override { return syscalls_ && !options_.only; }
  Duration poll_every() const override;
  void armed(KernelTime start) override;
  KernelTime due() const override { return std::min(next_look_, next_count_); }
  void poll(KernelTime now, const RecordHandler& handler) override;
  void finish(const RecordHandler& handler) override;
  std::vector<std::string> notes() const override;

  std::vector<std::pair<std::string, std::string>> settings() const override;
  void set(const std::vector<std::string_view>& words) override;
  /// Called after a change of settings, with the time from which they hold. Without it, nothing can
  /// be changed: the report would not know.
  std::function<void(KernelTime)> on_change;

  const StallOptions& options() const { return options_; }

  /// For StallViewOptions::on_examined: thresholds that are percentiles depend on it.
  void examined(const MeasuredKind& kind, std::uint64_t latency_ns, bool is_idle) {
    if (percentiles_) percentiles_->examined(kind, latency_ns, is_idle);
  }

 private:
  /// Throws Error for a requested kind that this kernel cannot measure; with `all`, leaves the kind
  /// out.
  void choose(const Kernel& kernel);
  void add_syscalls(Session& session, const std::vector<std::uint32_t>& cpus);
  void add_spans(Session& session, const Kernel& kernel, const std::vector<std::uint32_t>& cpus);
  void add_pairs(Session& session, const Kernel& kernel, const std::vector<std::uint32_t>& cpus);
  void add_profile(Session& session, const Kernel& kernel, const std::vector<std::uint32_t>& cpus);
  void add_disk_use(Session& session, const Kernel& kernel);
  /// The maps of the session, with the counted latencies.
  SharedMaps maps() const;
  /// BPF programs may run meanwhile.
  void store_thresholds();
  void store_percentiles();
  /// Whether these spans are waits that are summed up: no threshold applies.
  bool is_sum_of_waits(span_kind kind) const {
    return options_.span_sums && (kind == SPAN_OFFCPU || kind == SPAN_WAKEUP);
  }
  /// Stores how long a wait must be to be recorded, and the length of a slice.
  void store_shortest_waits();
  /// With `adapts`: looks at the number of records since the last look, lost ones included.
  void adapt(KernelTime now);
  /// Returns whether another length of waits is recorded.
  bool adapt_percentiles();

  StallOptions options_;
  Session* session_ = nullptr;
  Membership* membership_ = nullptr;
  SchedProbe* sched_ = nullptr;
  SyscallsProbe* syscalls_ = nullptr;
  PairsProbe* pairs_ = nullptr;
  KernelTime next_look_ = KernelTime::max();  ///< time of the next look for hangs
  RecordLimit limit_;
  KernelTime next_count_ = KernelTime::max();  ///< time of the next call of adapt()
  mutable std::uint64_t records_ = 0;          ///< since the last call of adapt()
  mutable std::uint64_t late_ = 0;             ///< of these: late spans
  std::uint64_t lost_ = 0;                     ///< up to the last call of adapt()
  mutable RisingCalls rising_;                 ///< with `adapts`
  SpanSums* sums_ = nullptr;
  std::unique_ptr<PercentileThresholds> percentiles_;  ///< null: all thresholds are times
  Duration least_wait_{};              ///< shortest recorded wait if only percentiles ask for it
  std::vector<std::string> left_out_;  ///< kinds of `all` left out by the kernel, and why
};

}  // namespace overdue
