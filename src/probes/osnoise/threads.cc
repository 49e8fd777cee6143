#include "probes/osnoise/threads.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/thread_rights.h"
#include "kernel/workload_thread.h"
#include "probes/osnoise/gap_record.h"
#include "probes/osnoise/probe.h"
#include "probes/osnoise/queue.h"

namespace overdue {
namespace {

constexpr std::size_t queue_words = std::size_t{1} << 17;  // 1 MiB per thread
/// Longest time in which a sleeping thread notices that it is to end.
constexpr std::uint64_t nap_ns = 20'000'000;
/// Number and length of the sleeps that show whether the programs of a CPU notice them.
constexpr int test_naps = 3;
constexpr std::uint64_t test_nap_ns = 100'000;

/// How often the calling thread was switched out, whether or not a program saw it.
std::uint64_t switches_so_far() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
}

}  // namespace

struct BusyThreads::Worker {
  std::uint32_t cpu = 0;
  std::uint32_t turn = 0;  ///< place in the order of threads that look one after the other
  std::atomic<std::uint32_t> tid = 0;
  std::atomic<int> error = 0;  ///< errno, if the thread ended before it began
  std::atomic<bool> ended = false;
  std::atomic<bool> has_run = false;   ///< since it was released
  std::atomic<bool> is_blind = false;  ///< the programs of its CPU notice nothing
  std::atomic<std::uint64_t> periods = 0;
  std::atomic<std::uint64_t> lost = 0, unseen = 0, unreported = 0;
  osnoise_cpu* shared = nullptr;  ///< set before the thread is released
  RecordQueue queue{queue_words};
  pthread_t thread{};

  void prepare(int priority);
  void work(BusyThreads& all);

 private:
  /// A time, and the number of interferences until then.
  struct Moment {
    std::uint64_t ns;
    u32 noises;
  };

  Moment look() const;
  bool is_noticed() const;
  void look_for_a_period(BusyThreads& all, std::uint64_t latest_begin_ns);
  void begin_looking();
  void found(BusyThreads& all, const Moment& before, const Moment& after, bool inner);
  void end_looking(BusyThreads& all, std::uint64_t begin_ns, std::uint64_t end_ns);
  event_header header(u16 kind, std::size_t size, std::uint64_t time_ns) const;

  osnoise_sample sample_{};
  u32 by_kind_[NOISE_KINDS]{};  ///< interferences by kind, when the period began
  u32 threads_ = 0;             ///< interferences by threads, up to the last look
  std::uint64_t switches_ = 0;  ///< switches, up to the last look
  std::unique_ptr<GapRecord> record_ = std::make_unique<GapRecord>();
};

void BusyThreads::Worker::prepare(int priority) {
  error = pin_to(cpu);
  const sched_param parameters{priority};
  if (error == 0 && priority > 0 && sched_setscheduler(0, SCHED_FIFO, &parameters) != 0)
    error = errno;
  const std::string name = fmt::format("osnoise/{}", cpu);
  pthread_setname_np(pthread_self(), name.c_str());
  ThreadRights{}.apply();  // the thread needs no rights from here on
  tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  tid.notify_one();
}

/// An interrupt after the read of the count may come before or after the read of the clock. Both
/// are read again until no interrupt came in between.
BusyThreads::Worker::Moment BusyThreads::Worker::look() const {
  const u32* const count = &shared->marks.count;
  Moment moment{};
  do {
    moment.noises = __atomic_load_n(count, __ATOMIC_ACQUIRE);
    moment.ns = KernelClock::now_ns();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (moment.noises != __atomic_load_n(count, __ATOMIC_ACQUIRE));
  return moment;
}

/// Whether the programs of this CPU notice that the thread sleeps and wakes up: a timer's interrupt
/// and two switches.
bool BusyThreads::Worker::is_noticed() const {
  const auto runs = [this] { return __atomic_load_n(&shared->marks.runs, __ATOMIC_RELAXED); };
  const std::uint64_t before = runs();
  __atomic_store_n(&shared->tid, tid.load(), __ATOMIC_RELEASE);
  for (int naps = 0; naps < test_naps && runs() == before; ++naps)
    sleep_until(KernelClock::now_ns() + test_nap_ns);
  __atomic_store_n(&shared->tid, 0, __ATOMIC_RELEASE);
  return runs() != before;
}

event_header BusyThreads::Worker::header(u16 kind, std::size_t size, std::uint64_t time_ns) const {
  event_header header{};
  header.time_ns = time_ns;
  header.pid = static_cast<u32>(getpid());
  header.tid = tid;
  header.kind = kind;
  header.size = static_cast<u16>(size);
  header.cpu = cpu;
  fmt::format_to_n(header.comm, COMM_SIZE - 1, "osnoise/{}", cpu);
  return header;
}

/// Makes the programs write. They miss nothing that is under way, because this thread itself runs.
void BusyThreads::Worker::begin_looking() {
  noise_marks& marks = shared->marks;
  marks.irq_begin_ns = marks.softirq_begin_ns = 0;
  marks.softirq_seen = marks.switch_seen = 1;
  marks.running_tid = tid;
  __atomic_store_n(&shared->tid, tid.load(), __ATOMIC_RELEASE);
  sample_ = {};
  std::copy(std::begin(marks.by_kind), std::end(marks.by_kind), by_kind_);
  threads_ = marks.by_kind[NOISE_THREAD];
  switches_ = switches_so_far();
}

void BusyThreads::Worker::found(BusyThreads& all, const Moment& before, const Moment& after,
                                bool inner) {
  GapRecord& record = *record_;
  osnoise_gap& gap = record.gap;
  gap = {};
  gap.begin_ns = before.ns;
  gap.noise_ns = after.ns - before.ns;
  gap.interferences = after.noises - before.noises;
  gap.noises = std::min<u32>(gap.interferences, OSNOISE_NOISES_MAX);
  record.add_noises(*shared, after.noises);
  if (all.options_.origins) record.add_origins(*shared, after.noises);
  if (const u32 more = gap.interferences - gap.noises; more > 0) {
    gap.flags |= OSNOISE_CUT;
    unreported.fetch_add(more, std::memory_order_relaxed);
  }
  if (inner) gap.flags |= OSNOISE_INNER;
  const std::uint64_t switches = switches_so_far();
  const u32 threads = shared->marks.by_kind[NOISE_THREAD];
  if (switches != switches_ && threads == threads_) {
    gap.flags |= OSNOISE_UNSEEN;
    unseen.fetch_add(1, std::memory_order_relaxed);
    ++sample_.thread;
  } else if (gap.interferences == 0) {
    ++sample_.hw;
  }
  switches_ = switches;
  threads_ = threads;
  sample_.noise_ns += gap.noise_ns;
  sample_.max_ns = std::max(sample_.max_ns, gap.noise_ns);
  const std::uint64_t limit_ns = all.options_.stop_single.count();
  if (limit_ns > 0 && gap.noise_ns >= limit_ns && !all.over_limit_.exchange(true)) {
    gap.flags |= OSNOISE_STOPPED;
    all.stopping_ = true;
  }
  gap.header = header(RECORD_OSNOISE_GAP, record.size(), after.ns);
  // The record of a period, which sums up all of its noises, has room even if many noises are lost.
  if (!queue.push(record.bytes(), sizeof sample_ / 8)) lost.fetch_add(1, std::memory_order_relaxed);
}

void BusyThreads::Worker::end_looking(BusyThreads& all, std::uint64_t begin_ns,
                                      std::uint64_t end_ns) {
  const noise_marks& marks = shared->marks;
  const auto since_begin = [&](noise_kind kind) { return marks.by_kind[kind] - by_kind_[kind]; };
  sample_.runtime_ns = end_ns - begin_ns;
  sample_.nmi = since_begin(NOISE_NMI);
  sample_.irq = since_begin(NOISE_IRQ) + since_begin(NOISE_VECTOR);
  sample_.softirq = since_begin(NOISE_SOFTIRQ);
  sample_.thread += since_begin(NOISE_THREAD);
  __atomic_store_n(&shared->tid, 0, __ATOMIC_RELEASE);
  const std::uint64_t limit_ns = all.options_.stop_total.count();
  if (limit_ns > 0 && sample_.noise_ns >= limit_ns && !all.over_limit_.exchange(true)) {
    sample_.flags |= OSNOISE_STOPPED;
    all.stopping_ = true;
  }
  sample_.header = header(RECORD_OSNOISE_SAMPLE, sizeof sample_, end_ns);
  periods.fetch_add(1, std::memory_order_relaxed);
  if (!queue.push(std::as_bytes(std::span(&sample_, 1))))
    lost.fetch_add(1, std::memory_order_relaxed);
}

/// Two looks are a pair, as in the kernel's hwlat: `inner` is within a pair, else between pairs.
void BusyThreads::Worker::look_for_a_period(BusyThreads& all, std::uint64_t latest_begin_ns) {
  const std::uint64_t threshold_ns = std::max<std::uint64_t>(all.options_.threshold.count(), 1);
  const std::uint64_t runtime_ns = all.options_.runtime.count();
  begin_looking();
  Moment last = look();
  const std::uint64_t begin_ns = last.ns;
  if (begin_ns > latest_begin_ns) {
    __atomic_store_n(&shared->tid, 0, __ATOMIC_RELEASE);
    return;
  }
  bool inner = false;
  while (last.ns - begin_ns < runtime_ns && !all.is_over() && !all.is_paused()) {
    inner = !inner;
    const Moment now = look();
    const std::uint64_t gap_ns = now.ns - last.ns;
    if (gap_ns >= threshold_ns) {
      // The thread was moved to end elsewhere, since it did not get this CPU: see end().
      if (all.is_over() && sched_getcpu() != static_cast<int>(cpu)) break;
      found(all, last, now, inner);
      last = look();  // the handling of a noise is no noise
      continue;
    }
    if (now.noises == last.noises) {
      u64& longest_ns = inner ? sample_.inner_ns : sample_.outer_ns;
      longest_ns = std::max<u64>(longest_ns, gap_ns);
    } else if (const u32 threads = shared->marks.by_kind[NOISE_THREAD]; threads != threads_) {
      threads_ = threads;
      switches_ = switches_so_far();
    }
    last = now;
  }
  end_looking(all, begin_ns, last.ns);
}

void BusyThreads::Worker::work(BusyThreads& all) {
  all.begun_.wait(0);
  if (all.is_over()) return;
  has_run = true;
  is_blind = !is_noticed();
  const std::uint64_t turns = all.options_.in_turn ? all.workers_.size() : 1;
  const std::uint64_t period_ns = all.options_.period.count() * turns;
  std::uint64_t at_ns = all.begin_ns_ + all.options_.period.count() * turn;
  while (!all.is_over()) {
    const std::uint64_t now = KernelClock::now_ns();
    if (now < at_ns || all.is_paused()) {
      sleep_until(std::min(now < at_ns ? at_ns : now + nap_ns, now + nap_ns));
      continue;
    }
    // A thread whose turn would run into the next thread's turn waits for its next turn.
    const std::uint64_t spare_ns = (all.options_.period - all.options_.runtime).count();
    look_for_a_period(all, turns == 1 ? UINT64_MAX : at_ns + spare_ns);
    at_ns += period_ns;
    if (const std::uint64_t after = KernelClock::now_ns(); at_ns < after && period_ns > 0)
      at_ns += (after - at_ns) / period_ns * period_ns;
  }
}

BusyThreads::BusyThreads(const BusyOptions& options) : options_(options) {
  // Best effort: if this is refused, a page that was reclaimed shows as noise.
  mlockall(MCL_CURRENT | MCL_FUTURE);
  try {
    for (const std::uint32_t cpu : options_.cpus) {
      auto made = std::make_unique<Worker>();
      Worker& worker = *made;
      worker.cpu = cpu;
      worker.turn = options_.in_turn ? static_cast<std::uint32_t>(workers_.size()) : 0;
      worker.thread = start_thread([this, &worker] {
        worker.prepare(options_.priority);
        if (worker.error == 0) worker.work(*this);
        worker.ended = true;
      });
      workers_.push_back(std::move(made));
      worker.tid.wait(0);
      if (const int code = worker.error; code != 0)
        throw cannot_run_on(cpu, code, "a busy thread",
                            "run as root, or with CAP_SYS_NICE; or leave --priority out");
    }
  } catch (const Error&) {
    end();
    throw;
  }
}

BusyThreads::~BusyThreads() {
  end();
}

void BusyThreads::begin(const std::vector<osnoise_cpu*>& shared, const u32& armed) {
  for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i]->shared = shared[i];
  armed_ = &armed;
  begin_ns_ = KernelClock::now_ns();
  begun_ = 1;
  begun_.notify_all();
}

void BusyThreads::end() {
  stopping_ = true;
  begun_ = 1;
  begun_.notify_all();
  const auto all_ended = [&] {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& worker) { return !worker->thread || worker->ended; });
  };
  for (const std::uint64_t until_ns = KernelClock::now_ns() + 5 * nap_ns;
       !all_ended() && KernelClock::now_ns() < until_ns;)
    sleep_until(KernelClock::now_ns() + nap_ns / 20);
  // A thread that a higher-priority thread keeps from its CPU must be able to end elsewhere.
  cpu_set_t ours;
  const bool known = sched_getaffinity(0, sizeof ours, &ours) == 0;
  for (const auto& worker : workers_)
    if (known && worker->thread && !worker->ended && worker->tid != 0)
      sched_setaffinity(static_cast<pid_t>(worker->tid.load()), sizeof ours, &ours);
  for (const auto& worker : workers_) {
    if (worker->thread) pthread_join(worker->thread, nullptr);
    worker->thread = {};
  }
}

std::vector<BusyThreads::State> BusyThreads::states() const {
  std::vector<State> states;
  for (const auto& worker : workers_)
    states.push_back({.cpu = worker->cpu, .has_run = worker->has_run, .periods = worker->periods});
  return states;
}

std::optional<std::uint32_t> BusyThreads::blind_cpu() const {
  for (const auto& worker : workers_)
    if (worker->is_blind) return worker->cpu;
  return std::nullopt;
}

void BusyThreads::drain(const RecordHandler& handler) {
  std::vector<std::pair<event_header, std::vector<std::byte>>> records;
  for (const auto& worker : workers_)
    worker->queue.drain([&](std::span<const std::byte> bytes) {
      event_header header{};
      std::memcpy(&header, bytes.data(), sizeof header);
      records.emplace_back(header, std::vector(bytes.begin(), bytes.end()));
    });
  // A period may end with its last noise: the records of one thread stay in their order.
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.time_ns, a.first.kind) < std::tie(b.first.time_ns, b.first.kind);
  });
  for (const auto& [header, bytes] : records)
    handler(
        {header.kind == RECORD_OSNOISE_GAP ? &osnoise_gap_schema : &osnoise_sample_schema, bytes});
}

std::uint64_t BusyThreads::sum_of(std::atomic<std::uint64_t> Worker::* count) const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += (*worker).*count;
  return sum;
}

std::uint64_t BusyThreads::lost() const {
  return sum_of(&Worker::lost);
}

std::uint64_t BusyThreads::unseen() const {
  return sum_of(&Worker::unseen);
}

std::uint64_t BusyThreads::unreported() const {
  return sum_of(&Worker::unreported);
}

}  // namespace overdue
