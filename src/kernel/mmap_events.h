#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "core/process_event.h"
#include "kernel/mapped.h"

namespace overdue {

/// Mappings of code, execs, forks and ends of all processes of this machine, as the kernel reports
/// them to profilers (perf_event_open). Events before the construction are not reported. One thread
/// reads; the kernel wakes no thread for an event. CPUs that come online later are not covered.
class MmapEvents {
 public:
  struct Options {
    std::size_t bytes_per_cpu = 256u << 10;  ///< a power of two of at least a page
    /// The kernel (from 5.12) gives build ids *instead of* devices and inodes. Without device and
    /// inode, the mapped file cannot be distinguished from a later file of the same name.
    bool build_ids = false;
  };
  using Handler = std::function<void(const ProcessEvent&)>;

  MmapEvents() : MmapEvents(Options()) {}
  /// Throws Error if the kernel refuses.
  explicit MmapEvents(const Options& options);

  /// Delivers the events before `until`, oldest first; the rest stays. Events of one CPU may still
  /// be on their way while later events of another CPU are here: to get all events before a moment,
  /// call a little after it. Returns the number of delivered events.
  std::size_t drain(KernelTime until, const Handler& handler);

  /// The number of events of all CPUs for which there was no room. Each loss is also delivered as
  /// an event.
  std::uint64_t lost() const { return lost_; }
  std::uint64_t malformed() const { return malformed_; }

 private:
  struct Ring {
    Fd fd;
    Mapped memory;
  };
  void read(const Ring& ring);

  std::size_t page_;
  std::size_t data_bytes_;
  std::vector<Ring> rings_;
  std::multimap<KernelTime, ProcessEvent> pending_;  // equal times in order of arrival
  std::vector<std::byte> record_;
  std::uint64_t lost_ = 0;
  std::uint64_t malformed_ = 0;
};

/// Decodes one perf_event record, which ends with the identity (pid, tid, time) that MmapEvents
/// asks for. For MmapEvents and its tests.
enum class PerfRecord { event, unwanted, malformed };
PerfRecord decode_perf_record(std::span<const std::byte> record, ProcessEvent& event);

}  // namespace overdue
