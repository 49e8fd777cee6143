#include "probes/timerlat/threads.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "kernel/workload_thread.h"

namespace overdue {
namespace {

constexpr Duration alive_every = std::chrono::milliseconds(100);
constexpr const char* rights_hint =
    "run as root, or with CAP_SYS_NICE; in a container or service its cgroup needs a share of real "
    "time too (cpu.rt_runtime_us)";

/// Path of the process's cgroup in the hierarchy of the v1 controller cpu; empty if there is none.
std::string cpu_cgroup(const std::string& proc) {
  const std::string text = read_text(proc + "/self/cgroup").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    for (const std::string_view controller : split(line.substr(first + 1, second - first - 1), ','))
      if (controller == "cpu") return std::string(line.substr(second + 1));
  }
  return {};
}

}  // namespace

void check_real_time_budget(const std::string& proc, const std::string& sys) {
  if (read_word(proc + "/sys/kernel/sched_rt_runtime_us") == "0")
    throw Error("real-time threads may not run on this machine: kernel.sched_rt_runtime_us is 0")
        .hint("sysctl kernel.sched_rt_runtime_us=950000");
  const std::string group = cpu_cgroup(proc);
  if (group.empty()) return;
  for (const char* mounted : {"/fs/cgroup/cpu", "/fs/cgroup/cpu,cpuacct"}) {
    const std::string file = fmt::format("{}{}{}/cpu.rt_runtime_us", sys, mounted, group);
    if (read_word(file) == "0")
      throw Error("real-time threads may not run in our cgroup: {} is 0", printable(file))
          .hint(
              "give it, and those above it, a share: echo 500000 > cpu.rt_runtime_us; or run in "
              "the root cgroup: echo $$ > /sys/fs/cgroup/cpu/cgroup.procs");
  }
}

struct TimerThreads::Worker {
  std::uint32_t cpu = 0;
  std::atomic<std::uint32_t> tid = 0;
  std::atomic<int> error = 0;  ///< errno, if the thread ended before it began
  std::atomic<std::uint64_t> missed = 0;
  std::atomic<std::uint64_t> wakings = 0;
  timerlat_slot* slot = nullptr;  ///< set before the thread is released
  pthread_t thread{};

  void prepare(int priority);
  void work(TimerThreads& all);
};

void TimerThreads::Worker::prepare(int priority) {
  const sched_param parameters{priority};
  error = pin_to(cpu);
  if (error == 0 && sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) error = errno;
  const std::string name = fmt::format("timerlat/{}", cpu);
  pthread_setname_np(pthread_self(), name.c_str());
  ThreadRights{}.apply();  // the thread needs no rights from here on
  tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  tid.notify_one();
}

void TimerThreads::Worker::work(TimerThreads& all) {
  all.begun_.wait(0);
  if (all.stopping_) return;
  const std::uint64_t period_ns = all.options_.period.count();
  std::uint64_t at_ns = all.begin_ns_;
  __atomic_store_n(&slot->late_ns, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->tid, tid.load(), __ATOMIC_RELEASE);
  bool expiries_are_seen = false;  // false if the CPU's timers expire on another CPU
  while (!all.stopping_.load(std::memory_order_relaxed) &&
         __atomic_load_n(all.over_limit_, __ATOMIC_RELAXED) == 0) {
    // A thread delayed for longer than a period has missed the periods in between: they are no
    // latency.
    at_ns += period_ns;
    if (const std::uint64_t now = KernelClock::now_ns(); at_ns <= now) {
      const std::uint64_t behind = (now - at_ns) / period_ns + 1;
      missed.fetch_add(behind, std::memory_order_relaxed);
      at_ns += behind * period_ns;
    }
    sleep_until(at_ns);
    const std::uint64_t back_ns = KernelClock::now_ns();
    if (__atomic_load_n(&slot->late_ns, __ATOMIC_RELAXED) == 0) {
      expiries_are_seen = true;
      const std::uint64_t late_ns = back_ns > at_ns ? back_ns - at_ns : 1;
      __atomic_store_n(&slot->late_ns, late_ns, __ATOMIC_RELAXED);
    } else if (expiries_are_seen) {
      // If the time is over when the timer is set, Linux 7.2 sets no timer and returns at once.
      missed.fetch_add(1, std::memory_order_relaxed);
    }
    wakings.store(wakings.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (all.is_starving(back_ns)) {
      all.starved_ = true;
      all.stopping_ = true;
    }
  }
}

TimerThreads::TimerThreads(const TimerThreadOptions& options) : options_(options) {
  check_real_time_budget();
  // Best effort: if this is refused, a page that was reclaimed shows as user latency.
  mlockall(MCL_CURRENT | MCL_FUTURE);
  try {
    for (const std::uint32_t cpu : options_.cpus) {
      auto made = std::make_unique<Worker>();
      Worker& worker = *made;
      worker.cpu = cpu;
      worker.thread = start_thread([this, &worker] {
        worker.prepare(options_.priority);
        if (worker.error == 0) worker.work(*this);
      });
      workers_.push_back(std::move(made));
      worker.tid.wait(0);
      if (const int code = worker.error; code != 0)
        throw cannot_run_on(cpu, code, "a real-time thread", rights_hint);
    }
    alive_ns_ = KernelClock::now_ns();
    watcher_ = start_thread([this] { watch(); });
    has_watcher_ = true;
  } catch (const Error&) {
    end();
    throw;
  }
}

TimerThreads::~TimerThreads() {
  end();
}

/// An ordinary thread, on any CPU that has time for it.
void TimerThreads::watch() {
  pthread_setname_np(pthread_self(), "timerlat/watch");
  ThreadRights{}.apply();
  std::unique_lock lock(watching_);
  while (!stopping_) {
    alive_ns_ = KernelClock::now_ns();
    ended_.wait_for(lock, alive_every);
  }
}

bool TimerThreads::is_starving(std::uint64_t now) {
  const std::uint64_t alive_ns = alive_ns_.load(std::memory_order_relaxed);
  return now > alive_ns && now - alive_ns > options_.starved_after.count();
}

void TimerThreads::begin(const std::vector<timerlat_slot*>& slots, const u32& over_limit) {
  for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i]->slot = slots[i];
  over_limit_ = &over_limit;
  begin_ns_ = alive_ns_ = KernelClock::now_ns();
  begun_ = 1;
  begun_.notify_all();
}

void TimerThreads::end() {
  {
    const std::lock_guard lock(watching_);
    stopping_ = true;
  }
  ended_.notify_all();
  // A thread that a higher-priority thread keeps from its CPU must be able to end elsewhere.
  cpu_set_t ours;
  const bool known = sched_getaffinity(0, sizeof ours, &ours) == 0;
  for (const auto& worker : workers_)
    if (known && worker->tid != 0)
      sched_setaffinity(static_cast<pid_t>(worker->tid.load()), sizeof ours, &ours);
  begun_ = 1;
  begun_.notify_all();
  for (const auto& worker : workers_) {
    if (worker->thread) pthread_join(worker->thread, nullptr);
    worker->thread = {};
  }
  if (has_watcher_) pthread_join(watcher_, nullptr);
  has_watcher_ = false;
}

std::vector<std::uint64_t> TimerThreads::missed() const {
  std::vector<std::uint64_t> all;
  for (const auto& worker : workers_) all.push_back(worker->missed);
  return all;
}

std::vector<std::uint64_t> TimerThreads::wakings() const {
  std::vector<std::uint64_t> all;
  for (const auto& worker : workers_) all.push_back(worker->wakings);
  return all;
}

}  // namespace overdue
