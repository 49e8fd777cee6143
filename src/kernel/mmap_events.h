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

/// Mappings of code, execs, forks and ends of all processes of this machine, as the kernel tells
/// them to profilers (perf_event_open). What happened before this was made is not told. One thread
/// reads; nobody is woken. CPUs that come online later are not heard.
class MmapEvents {
 public:
  struct Options {
    std::size_t bytes_per_cpu = 256u << 10;  ///< a power of two of at least a page
    /// The kernel (from 5.12) gives build ids *instead of* devices and inodes: without those the
    /// very file that was mapped cannot be told from one that took its name.
    bool build_ids = false;
  };
  using Handler = std::function<void(const ProcessEvent&)>;

  MmapEvents() : MmapEvents(Options()) {}
  /// Throws Error where the kernel refuses.
  explicit MmapEvents(const Options& options);

  /// Delivers, oldest first, what happened before `until`; the rest stays. Events of one CPU may
  /// still be on their way while later ones of another are here: to have all before a moment, ask a
  /// little after it. Returns how many were delivered.
  std::size_t drain(KernelTime until, const Handler& handler);

  /// Of all CPUs, events that found no room; each time they are an event too.
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
  std::multimap<KernelTime, ProcessEvent> pending_;  // of one time as they came
  std::vector<std::byte> record_;
  std::uint64_t lost_ = 0;
  std::uint64_t malformed_ = 0;
};

/// One perf_event record with the identity (pid, tid, time) that MmapEvents asks for behind it; for
/// MmapEvents and its tests. False: of a kind nobody wants, or malformed.
enum class PerfRecord { event, unwanted, malformed };
PerfRecord decode_perf_record(std::span<const std::byte> record, ProcessEvent& event);

}  // namespace overdue
