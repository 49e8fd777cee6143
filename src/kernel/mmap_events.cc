#include "kernel/mmap_events.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace overdue {
namespace {

constexpr std::size_t max_build_id_bytes = 20;

// The end of every record, as PERF_SAMPLE_TID | PERF_SAMPLE_TIME with sample_id_all request.
struct RecordIdentity {
  std::uint32_t pid, tid;
  std::uint64_t time_ns;
};

// The fixed part of PERF_RECORD_MMAP2; a path follows.
struct MappingRecord {
  std::uint32_t pid, tid;
  std::uint64_t address, length, file_offset;
  union {
    struct {
      std::uint32_t major, minor;
      std::uint64_t inode, inode_generation;
    } file;
    struct {
      std::uint8_t size, reserved_1;
      std::uint16_t reserved_2;
      std::uint8_t bytes[max_build_id_bytes];
    } build_id;
  };
  std::uint32_t protection, flags;
};
static_assert(sizeof(MappingRecord) == 64);

// PERF_RECORD_FORK and PERF_RECORD_EXIT.
struct TaskRecord {
  std::uint32_t pid, parent_pid, tid, parent_tid;
  std::uint64_t time_ns;
};

struct LostRecord {
  std::uint64_t id, lost;
};

struct NameRecord {
  std::uint32_t pid, tid;
};

template <typename T>
bool take(std::span<const std::byte>& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return true;
}

std::string text_of(std::span<const std::byte> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::string(all.substr(0, all.find('\0')));
}

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

pid_t as_pid(std::uint32_t number) {
  return static_cast<pid_t>(number);
}

bool decode_mapping(std::span<const std::byte> body, bool has_build_id, ProcessEvent& event) {
  MappingRecord mapping;
  if (!take(body, mapping) || mapping.length == 0 ||
      mapping.address + mapping.length < mapping.address)
    return false;
  event.kind = ProcessEvent::Kind::mapping;
  event.is_executable = (mapping.protection & PROT_EXEC) != 0;
  event.start = mapping.address;
  event.end = mapping.address + mapping.length;
  event.file_offset = mapping.file_offset;
  if (has_build_id) {
    if (mapping.build_id.size > max_build_id_bytes) return false;
    event.build_id = hexadecimal(std::span(mapping.build_id.bytes).first(mapping.build_id.size));
  } else {
    event.device_major = mapping.file.major;
    event.device_minor = mapping.file.minor;
    event.inode = mapping.file.inode;
    event.inode_generation = mapping.file.inode_generation;
  }
  event.text = text_of(body);
  return true;
}

bool decode_task(std::span<const std::byte> body, ProcessEvent::Kind kind, ProcessEvent& event) {
  TaskRecord task;
  if (!take(body, task)) return false;
  event.kind = kind;
  event.pid = as_pid(task.pid);  // at a fork the child; the record's identity is the parent
  event.tid = as_pid(task.tid);
  event.parent_pid = as_pid(task.parent_pid);
  return true;
}

Fd open_event(int cpu, bool build_ids) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.sample_id_all = 1;
  attributes.exclude_kernel = 1;
  attributes.mmap = 1;
  attributes.mmap2 = 1;
  attributes.build_id = build_ids ? 1 : 0;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  attributes.task = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.watermark = 1;  // no thread waits for events
  attributes.wakeup_watermark = ~0u;
  return Fd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

PerfRecord decode_perf_record(std::span<const std::byte> record, ProcessEvent& event) {
  event = {};
  std::span<const std::byte> body = record;
  perf_event_header header;
  RecordIdentity identity;
  if (!take(body, header) || header.size != record.size() || body.size() < sizeof identity)
    return PerfRecord::malformed;
  std::memcpy(&identity, body.last(sizeof identity).data(), sizeof identity);
  body = body.first(body.size() - sizeof identity);
  event.time = KernelTime(Duration(identity.time_ns));
  event.pid = as_pid(identity.pid);
  event.tid = as_pid(identity.tid);
  bool is_good = false;
  switch (header.type) {
    case PERF_RECORD_MMAP2:
      is_good = decode_mapping(body, (header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0, event);
      break;
    case PERF_RECORD_FORK:
      is_good = decode_task(body, ProcessEvent::Kind::fork, event);
      break;
    case PERF_RECORD_EXIT:
      is_good = decode_task(body, ProcessEvent::Kind::exit, event);
      break;
    case PERF_RECORD_COMM: {
      NameRecord name;
      is_good = take(body, name);
      const bool is_exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
      event.kind = is_exec ? ProcessEvent::Kind::exec : ProcessEvent::Kind::name;
      if (is_good) {  // not the record's identity: another thread may set the name
        event.pid = as_pid(name.pid);
        event.tid = as_pid(name.tid);
      }
      event.text = text_of(body);
      break;
    }
    case PERF_RECORD_LOST: {
      LostRecord lost;
      is_good = take(body, lost);
      event.kind = ProcessEvent::Kind::lost;
      if (is_good) event.lost_events = lost.lost;
      break;
    }
    default:
      return PerfRecord::unwanted;
  }
  return is_good ? PerfRecord::event : PerfRecord::malformed;
}

MmapEvents::MmapEvents(const Options& options)
    : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), data_bytes_(options.bytes_per_cpu) {
  const int cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  for (int cpu = 0; cpu < cpus; ++cpu) {
    Fd fd = open_event(cpu, options.build_ids);
    if (!fd && errno == ENODEV) continue;  // offline
    if (!fd) throw Error("cannot follow the mappings of processes: {}", errno_text(errno));
    Mapped memory(fd.get(), page_ + data_bytes_, PROT_READ | PROT_WRITE, 0,
                  "the kernel's news of processes");
    rings_.push_back({std::move(fd), std::move(memory)});
  }
}

std::size_t MmapEvents::drain(KernelTime until, const Handler& handler) {
  for (const Ring& ring : rings_) read(ring);
  std::size_t delivered = 0;
  for (; !pending_.empty() && pending_.begin()->first < until; ++delivered) {
    const auto oldest = pending_.extract(pending_.begin());
    handler(oldest.mapped());
  }
  return delivered;
}

// Only the kernel writes the ring buffer. Even so, every length in it is checked.
void MmapEvents::read(const Ring& ring) {
  auto* control = ring.memory.as<perf_event_mmap_page>();
  const auto* data = ring.memory.as<const std::byte>(page_);
  const std::uint64_t head = std::atomic_ref(control->data_head).load(std::memory_order_acquire);
  std::uint64_t tail = control->data_tail;
  const auto copy = [&](std::uint64_t from, std::size_t size, std::byte* to) {
    const std::size_t begin = from & (data_bytes_ - 1);
    const std::size_t first = std::min(size, data_bytes_ - begin);
    std::memcpy(to, data + begin, first);
    std::memcpy(to + first, data, size - first);
  };
  while (head - tail >= sizeof(perf_event_header)) {
    perf_event_header header;
    copy(tail, sizeof header, reinterpret_cast<std::byte*>(&header));
    if (header.size < sizeof header || header.size > head - tail) {
      ++malformed_;
      tail = head;
      break;
    }
    record_.resize(header.size);
    copy(tail, header.size, record_.data());
    tail += header.size;
    ProcessEvent event;
    switch (decode_perf_record(record_, event)) {
      case PerfRecord::event:
        lost_ += event.lost_events;
        pending_.emplace(event.time, std::move(event));
        break;
      case PerfRecord::malformed:
        ++malformed_;
        break;
      case PerfRecord::unwanted:
        break;
    }
  }
  std::atomic_ref(control->data_tail).store(tail, std::memory_order_release);
}

}  // namespace overdue
