#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "core/process_event.h"
#include "resolve/kept_files.h"
#include "resolve/kept_perf_maps.h"
#include "resolve/process_image.h"

namespace overdue {

/// The mappings of each process over time. A process is read from /proc on its first use. Kernel
/// events for mappings, forks and execs then keep it up to date, so that a process may end before
/// its stacks are resolved. Everything is bounded: beyond the bounds, processes that have ended are
/// forgotten first, then the processes without a use or an event for the longest time. Used by one
/// thread.
class ProcessImages {
 public:
  struct Options {
    std::size_t max_processes = 16384;  ///< processes not known to have ended
    std::size_t max_ended = 2048;       ///< processes kept after their end
    Duration ended_kept = std::chrono::minutes(2);
    std::size_t max_mappings = 2u << 20;  ///< total of all images; the process used last stays
    /// past images of a process, each from before some code was replaced
    std::size_t max_past = 64;
    std::size_t max_past_mappings = 8192;                ///< mappings of a past image
    Duration past_apart = std::chrono::milliseconds(2);  ///< least time between two past images
    std::size_t max_kept_files = 256;
    // For tests; by default the real functions.
    std::function<std::optional<ProcessMaps>(pid_t)> read_maps;
    std::function<Fd(pid_t, const Mapping&)> open_mapped;
    /// latest possible time of the file's creation
    std::function<std::optional<KernelTime>(const Fd&)> born{};
    std::function<KernelTime()> now;
  };
  struct Cost {
    std::size_t reads = 0;  ///< reads of /proc/PID/maps
    std::size_t processes = 0;
    std::size_t mappings = 0;
    std::size_t kept_files = 0;
    std::uint64_t lost_events = 0;
  };
  static constexpr KernelTime latest = KernelTime::max();

  ProcessImages() : ProcessImages(Options()) {}
  explicit ProcessImages(Options options);

  /// Events must come in the order of their times.
  void handle(const ProcessEvent& event);
  /// Announces that stacks of this process and of its children will be needed. Reads the process
  /// now and keeps the files of its code open, because the process may delete them or end.
  void add_target(pid_t pid);
  /// The image of the process at time `at`. Null if the process ended before any event or read of
  /// it, or if the image of that time is unknown. A returned image does not change: a new mapping
  /// makes a new image. If was_read_later(), the image is that of the read until handle() has the
  /// events in between.
  std::shared_ptr<const ProcessImage> image_of(pid_t pid, KernelTime at = latest);
  /// The file behind a mapping of `image`, as open_mapped_file() opens it; `pid` is any process
  /// that has this image.
  Fd open(const ProcessImage& image, const Mapping& mapping, pid_t pid);
  /// Opens the perf maps of processes that generate code, for use after their end; keep_perf_map()
  /// looks for the map of `pid` at once.
  void keep_perf_maps(KernelTime now) { perf_maps_.look_again(now); }
  void keep_perf_map(pid_t pid, KernelTime now) { perf_maps_.wanted(pid, now); }
  /// As PerfMap::open(); if the process is gone, the map that was kept, if any.
  PerfMap::File perf_map(pid_t pid) const { return perf_maps_.open(pid); }

  /// Whether the process was read from /proc after that time.
  bool was_read_later(pid_t pid, KernelTime at) const;

  Cost cost() const;

 private:
  struct Counted;
  using Image = std::shared_ptr<Counted>;
  struct Past {
    Image image;  // null: not known
    KernelTime until;
  };
  struct Process {
    Image image;             // null: not known yet
    std::vector<Past> past;  // oldest first
    KernelTime known_at{};   // `image` includes the events up to this time
    pid_t forked_from = 0;   // parent whose image was unknown at the fork; 0: none
    KernelTime forked_at{}, exec_at{};
    std::uint64_t losses = 0;  // value of losses_ that `image` accounts for
    bool is_target = false;
    bool was_read = false;  // from /proc, with success or not
    std::optional<KernelTime> ended_at;
    bool is_in_ended = false;
    std::list<pid_t>::iterator order;
  };
  using Processes = std::unordered_map<pid_t, Process>;

  void on_mapping(const ProcessEvent& event);
  void on_exec(const ProcessEvent& event);
  void on_fork(const ProcessEvent& event);
  void on_exit(const ProcessEvent& event);
  void keep_past(Process& process, Image image, KernelTime until);
  Image worth_keeping(const Process& process, KernelTime until) const;
  void move_to_past(Process& process, KernelTime until);
  void on_earlier_mapping(Process& process, const Mapping& mapping, KernelTime time);

  Process& made(pid_t pid);
  Process* known(pid_t pid);
  void touch(Process& process);
  void forget(Processes::iterator process);
  void make_room(pid_t used_last);
  void read(pid_t pid, Process& process);
  Image inherited(const Process& process);
  static const Past* past_at(const Process& process, KernelTime at);
  static Image image_at(const Process& process, KernelTime at);
  Fd opened(pid_t pid, const ProcessImage::Entry& entry) const;
  Image made_image(pid_t pid, ProcessImage image);
  ProcessImage& writable(pid_t pid, Process& process);
  void keep_files(pid_t pid, Process& process);

  Options options_;
  Processes processes_;
  std::list<pid_t> running_, ended_;  // most recently used first
  KeptFiles files_;
  KeptPerfMaps perf_maps_;
  std::shared_ptr<std::size_t> mappings_;  // shared with images that callers still hold
  std::uint64_t last_id_ = 0;
  std::uint64_t losses_ = 0;
  std::uint64_t lost_events_ = 0;
  std::size_t reads_ = 0;
};

}  // namespace overdue
