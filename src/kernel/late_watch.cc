#include "kernel/late_watch.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "base/error.h"
#include "kernel/membership.h"

namespace overdue {
namespace {

constexpr std::size_t ring_pages = 16;

std::uint64_t sys_enter_id() {
  for (const char* root : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    std::ifstream file(std::string(root) + "/events/raw_syscalls/sys_enter/id");
    if (std::uint64_t id = 0; file >> id) return id;
  }
  throw Error(
      "cannot read the id of the tracepoint raw_syscalls:sys_enter: tracefs is not mounted or not "
      "readable")
      .hint("mount -t tracefs nodev /sys/kernel/tracing");
}

/// A filter that only numbers not among `known` pass. Runs of numbers are one term each: the kernel
/// takes a page of text.
std::string filter_text(std::span<const std::uint32_t> known) {
  const std::set<std::uint32_t> numbers(known.begin(), known.end());
  std::string text;
  for (auto number = numbers.begin(); number != numbers.end();) {
    const std::uint32_t first = *number;
    std::uint32_t last = first;
    for (++number; number != numbers.end() && *number == last + 1; ++number) last = *number;
    if (!text.empty()) text += " && ";
    text += first == last ? fmt::format("id != {}", first)
                          : fmt::format("(id < {} || id > {})", first, last);
  }
  return text;
}

// A sample as asked for: PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_RAW.
struct Sample {
  perf_event_header header;
  std::uint32_t pid, tid;
  std::uint64_t time_ns;
  std::uint32_t raw_size;
};
constexpr std::size_t raw_offset = sizeof(perf_event_header) + 8 + 8 + 4;
constexpr std::size_t id_offset = raw_offset + 8;  // behind the common fields of every tracepoint

}  // namespace

LateWatch::LateWatch(bool machine_wide, std::span<const std::uint32_t> known)
    : tracepoint_id_(sys_enter_id()),
      known_(known.begin(), known.end()),
      first_of_cpu_(possible_cpu_count(), -1) {
  if (machine_wide)
    for (std::uint32_t cpu = 0; cpu < first_of_cpu_.size(); ++cpu) open(-1, cpu);
}

void LateWatch::add_thread(std::uint32_t tid) {
  // Inherited events need an event per CPU to have a ring; the samples of a CPU share its first
  // one.
  for (std::uint32_t cpu = 0; cpu < first_of_cpu_.size(); ++cpu) open(static_cast<int>(tid), cpu);
}

void LateWatch::open(int tid, std::uint32_t cpu) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = tracepoint_id_;
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  attr.disabled = 1;
  attr.inherit = tid >= 0;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = 1u << 30;  // never: we poll
  Fd event(static_cast<int>(
      syscall(SYS_perf_event_open, &attr, tid, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event && (errno == ESRCH || errno == ENODEV))
    return;  // the thread has ended, or the CPU is offline
  check_errno(event.get(), "cannot watch for late system calls");
  apply_filter(event.get());
  if (first_of_cpu_[cpu] < 0) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    rings_.emplace_back(event.get(), (1 + ring_pages) * page, PROT_READ | PROT_WRITE, 0,
                        "a perf buffer");
    first_of_cpu_[cpu] = event.get();
  } else {
    check_errno(ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, first_of_cpu_[cpu]),
                "cannot share a perf buffer");
  }
  check_errno(ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0),
              "cannot enable the watch for late system calls");
  events_.push_back(std::move(event));
}

void LateWatch::apply_filter(int event) {
  if (known_.empty()) return;
  check_errno(ioctl(event, PERF_EVENT_IOC_SET_FILTER, filter_text(known_).c_str()),
              "cannot filter the watch for late system calls");
}

std::uint64_t LateWatch::poll(const std::function<void(const LateCall&)>& handler) {
  std::uint64_t dropped = 0;
  for (const Mapped& ring : rings_) dropped += drain(ring, handler);
  return dropped;
}

std::uint64_t LateWatch::drain(const Mapped& ring,
                               const std::function<void(const LateCall&)>& handler) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = ring_pages * page;
  auto* control = ring.as<perf_event_mmap_page>();
  const std::uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
  std::uint64_t tail = control->data_tail;
  std::uint64_t dropped = 0;
  const auto copy = [&](std::uint64_t from, void* to, std::size_t bytes) {  // records may wrap
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<char*>(to)[i] = *ring.as<char>(page + (from + i) % size);
  };
  while (tail < head) {
    Sample sample{};
    copy(tail, &sample, sizeof(perf_event_header));
    if (sample.header.size < sizeof(perf_event_header)) break;
    if (sample.header.type == PERF_RECORD_SAMPLE && sample.header.size >= id_offset + 8) {
      std::int64_t nr = 0;
      copy(tail, &sample, raw_offset);
      copy(tail + id_offset, &nr, sizeof nr);
      handler({static_cast<std::uint32_t>(nr), sample.pid, sample.tid,
               KernelTime(Duration(sample.time_ns))});
    } else if (sample.header.type == PERF_RECORD_LOST && sample.header.size >= 24) {
      std::uint64_t lost = 0;
      copy(tail + sizeof(perf_event_header) + 8, &lost, sizeof lost);
      dropped += lost;
    }
    tail += sample.header.size;
  }
  __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
  return dropped;
}

}  // namespace overdue
