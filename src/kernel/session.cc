#include "kernel/session.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "kernel/call_hooks.h"

namespace overdue {
namespace {

constexpr unsigned calibration_rounds = 16;
constexpr unsigned calls_per_round = 128;

/// A program reads the clock before it reserves room in the ring. A record can therefore be older,
/// by this time, than a record that another CPU has finished already.
constexpr std::chrono::milliseconds ring_slack{1};

constexpr double statistics_were_on = 0.95;  // part of all runs; beyond it, all were counted

constexpr double rings_filling = 0.125;
constexpr std::chrono::milliseconds look_every{5};  // at the rings, between handled records
constexpr double cells_filling = 0.25;              // the rest is for cells of a grace period

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1))];
}

void set_word(u32& word, u32 value) {
  __atomic_store_n(&word, value, __ATOMIC_SEQ_CST);
}

void next_epoch(u32& epoch) {
  set_word(epoch, epoch + 1);
}

const std::vector<LiveProbe::Epoch> all_epochs = {&session_control::epoch,
                                                  &session_control::totals_epoch};

/// Pins the calling thread to the first of `cpus` on which it may run, until destroyed. If there is
/// none, or the list is empty, nothing changes.
class OnOneCpu {
 public:
  explicit OnOneCpu(std::span<const std::uint32_t> cpus) {
    if (cpus.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    for (const std::uint32_t cpu : cpus) {
      if (cpu >= CPU_SETSIZE) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
      if (moved_) return;
    }
  }
  OnOneCpu(const OnOneCpu&) = delete;
  OnOneCpu& operator=(const OnOneCpu&) = delete;
  ~OnOneCpu() {
    if (moved_) sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

}  // namespace

std::vector<double> time_getppid(std::span<const std::uint32_t> cpus) {
  const OnOneCpu pinned(cpus);
  std::vector<double> rounds;
  for (unsigned round = 0; round < calibration_rounds; ++round) {
    const KernelTime begin = KernelClock::now();
    for (unsigned i = 0; i < calls_per_round; ++i) syscall(SYS_getppid);
    rounds.push_back(static_cast<double>((KernelClock::now() - begin).count()) / calls_per_round);
  }
  return rounds;
}

Calibration Session::calibrate(const std::vector<double>& base_ns,
                               std::span<const std::uint32_t> cpus) {
  Calibration result{.base_ns = quantile(base_ns, 0.5), .rounds = calibration_rounds};
  if (result.base_ns > 0)
    result.spread = (quantile(base_ns, 0.75) - quantile(base_ns, 0.25)) / result.base_ns;
  result.bystander_ns = quantile(time_getppid(cpus), 0.5);
  for (const auto& probe : probes_) probe->begin_calibration();
  membership_.adopt_self();
  set_word(membership_.control().armed, 1);
  result.traced_ns = quantile(time_getppid(cpus), 0.5);
  set_word(membership_.control().armed, 0);
  membership_.release_self();
  // Only our own thread was measured, since no other thread becomes a member before arm(). It has
  // left all programs: dropping its results needs no grace period.
  for (const LiveProbe::Epoch epoch : all_epochs) next_epoch(membership_.control().*epoch);
  drain_cells(all_epochs, [](const Record&) {});
  for (const auto& probe : probes_) probe->end_calibration();
  if (RingSet* rings = membership_.rings())
    rings->drain(KernelTime::max(), [](std::span<const std::byte>) {});
  membership_.reset_counters();
  return result;
}

/// Lets spans begin. Begins that programs remember from earlier are not matched.
KernelTime Session::start_spans() {
  session_control& control = membership_.control();
  const KernelTime now = KernelClock::now();
  for (u64& since_ns : control.since_ns)
    __atomic_store_n(&since_ns, static_cast<u64>(now.time_since_epoch().count()), __ATOMIC_SEQ_CST);
  set_word(control.armed, 1);
  return now;
}

void Session::arm() {
  membership_.adopt_existing();
  membership_
      .adopt_existing();  // again: the first pass may miss children of threads that it visits late
  runs_before_ = sum_counters();
  start_ = start_spans();
}

void Session::start_waits() {
  __atomic_store_n(&membership_.control().since_ns[SPAN_OFFCPU], KernelClock::now_ns(),
                   __ATOMIC_SEQ_CST);
}

/// Returns the time of the call. A time that goes on counts until then.
KernelTime Session::end_spans() {
  session_control& control = membership_.control();
  const KernelTime now = KernelClock::now();
  __atomic_store_n(&control.disarmed_ns, static_cast<u64>(now.time_since_epoch().count()),
                   __ATOMIC_SEQ_CST);
  set_word(control.armed, 0);
  return now;
}

void Session::pause() {
  end_spans();
}

void Session::resume() {
  __atomic_store_n(&membership_.control().resumed_ns, KernelClock::now_ns(), __ATOMIC_SEQ_CST);
  start_spans();
}

std::size_t Session::poll(const RecordHandler& handler) {
  membership_.follow_moves();
  return drain_rings(KernelClock::now() - ring_slack, handler);
}

std::size_t Session::drain_rings(KernelTime until, const RecordHandler& handler) {
  RingSet* rings = membership_.rings();
  if (!rings) return 0;
  KernelTime looked = KernelClock::now();
  const std::size_t delivered = rings->drain(until, [&](std::span<const std::byte> bytes) {
    event_header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    deliver_inserted(header.time_ns, handler);
    for (const auto& probe : probes_)
      if (const Schema* schema = probe->schema(header.kind)) {
        handler(Record{schema, bytes});
        break;
      }
    // Many slow records, such as stacks, must not keep newer records waiting in full rings.
    const KernelTime now = KernelClock::now();
    if (now - looked < look_every) return;
    looked = now;
    if (rings->fill() > rings_filling) set_aside();
  });
  deliver_inserted(static_cast<std::uint64_t>(until.time_since_epoch().count()), handler);
  return delivered;
}

void Session::insert(const Record& record) {
  inserted_.push_back({record.schema, {record.bytes.begin(), record.bytes.end()}});
}

void Session::deliver_inserted(std::uint64_t until_ns, const RecordHandler& handler) {
  while (!inserted_.empty()) {
    const Inserted& next = inserted_.front();
    const Record record{next.schema, next.bytes};
    if (record.header().time_ns > until_ns) return;
    handler(record);
    inserted_.pop_front();
  }
}

void Session::set_aside() {
  if (RingSet* rings = membership_.rings()) rings->set_aside(KernelClock::now() - ring_slack);
}

void Session::end_early() {
  if (end_ != KernelTime::max()) return;
  end_ = end_spans();
}

bool Session::rings_are_filling() const {
  const RingSet* rings = membership_.rings();
  return rings && (rings->has_aside() || rings->fill() > rings_filling);
}

bool Session::is_filling(const LiveProbe& probe) const {
  return probe.fill(membership_.control().*probe.epoch()) > cells_filling;
}

bool Session::cells_are_filling() const {
  return std::any_of(probes_.begin(), probes_.end(),
                     [this](const auto& probe) { return is_filling(*probe); });
}

void Session::begin_epochs(const std::vector<LiveProbe::Epoch>& epochs) {
  for (const LiveProbe::Epoch epoch : epochs) next_epoch(membership_.control().*epoch);
  wait_for_running_programs();
}

void Session::drain_cells(const std::vector<LiveProbe::Epoch>& epochs,
                          const RecordHandler& handler) {
  for (const auto& probe : probes_)
    if (std::ranges::find(epochs, probe->epoch()) != epochs.end())
      probe->drain_cells(membership_.control().*probe->epoch(), KernelClock::now(), handler);
}

void Session::make_room(const RecordHandler& handler) {
  std::vector<LiveProbe::Epoch> full;
  for (const auto& probe : probes_)
    if (is_filling(*probe) && std::ranges::find(full, probe->epoch()) == full.end())
      full.push_back(probe->epoch());
  begin_epochs(full);
  drain_cells(full, handler);
}

void Session::collect(const RecordHandler& handler) {
  begin_epochs(all_epochs);
  drain_cells(all_epochs, handler);
}

void Session::finish(const RecordHandler& handler) {
  end_early();
  // Of a thread that ends once the programs are detached, these are the last sums.
  collect(handler);
  // In reverse order: a probe may use the data of a probe that was added before it.
  for (auto probe = probes_.rbegin(); probe != probes_.rend(); ++probe)
    (*probe)->finish(end_, handler);
  // All programs are detached, but some may still run: a record that is reserved and not yet
  // submitted hides all records after it.
  begin_epochs(all_epochs);
  drain_rings(KernelTime::max(), handler);
  drain_cells(all_epochs, handler);
}

std::vector<std::string> Session::left_out() const {
  std::vector<std::string> all;
  for (const auto& probe : probes_)
    for (std::string& one : probe->left_out()) all.push_back(std::move(one));
  if (call_hooks() == CallHooks::preempted) all.emplace_back(preempted_hooks_note);
  return all;
}

Counters Session::sum_counters() const {
  Counters sum = membership_.counters();
  for (const auto& probe : probes_)
    for (const auto& [counter, value] : probe->counters()) sum[counter] += value;
  return sum;
}

void Session::add_cost(Counters& sum, Receipt& receipt) const {
  const auto since_start = [&](session_counter counter) -> std::uint64_t {
    const auto before = runs_before_.find(counter);
    const std::uint64_t was = before == runs_before_.end() ? 0 : before->second;
    return sum[counter] > was ? sum[counter] - was : 0;
  };
  receipt.probe_runs = since_start(COUNTER_RUNS);
  const auto ns = static_cast<double>(since_start(COUNTER_RUN_NS));
  if (ns == 0) return;  // too small to measure
  double by_kernel = 1;
  double error_ns = 1.96 * std::sqrt(static_cast<double>(since_start(COUNTER_RUN_VARIANCE)));
  // If the kernel has timed all runs, its times are more precise.
  const auto timed = static_cast<double>(since_start(COUNTER_STATS_RUNS));
  const auto runs = static_cast<double>(receipt.probe_runs);
  if (timed > statistics_were_on * runs) {
    by_kernel = static_cast<double>(since_start(COUNTER_STATS_NS)) / timed * runs / ns;
    error_ns = 0;
  }
  receipt.probe_ns = static_cast<std::uint64_t>(ns * by_kernel);
  receipt.probe_target_ns = static_cast<std::uint64_t>(
      static_cast<double>(since_start(COUNTER_RUN_TARGET_NS)) * by_kernel);
  receipt.probe_error_ns = static_cast<std::uint64_t>(error_ns);
}

Receipt Session::receipt() const {
  Receipt receipt;
  Counters sum = sum_counters();
  add_cost(sum, receipt);
  receipt.events = sum[COUNTER_SPANS];
  const auto lost = [&](const char* reason, session_counter counter) {
    if (sum[counter] > 0) receipt.lost_by[reason] = sum[counter];
  };
  lost("ring_full", COUNTER_RING_FULL);
  lost("cells_full", COUNTER_CELLS_FULL);
  lost("task_storage", COUNTER_TASK_STORAGE);
  lost("spans_full", COUNTER_SPANS_FULL);
  lost("spans_unread", COUNTER_SPANS_UNREAD);
  lost("busy", COUNTER_WORST_BUSY);
  lost("windows", COUNTER_WORST_WINDOWS);
  lost("nested", COUNTER_NESTED);
  receipt.unmatched = sum[COUNTER_UNMATCHED];
  receipt.cut = sum[COUNTER_CUT];
  receipt.refused = sum[COUNTER_REFUSED];
  receipt.target_cpu_ns = membership_.cpu_use().time_ns;
  return receipt;
}

}  // namespace overdue
