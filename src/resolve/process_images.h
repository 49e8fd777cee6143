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

/// What was mapped into which process when: read from /proc when first asked for, and followed by
/// what the kernel says of mappings, forks and execs, so that a process may end before its stacks
/// are looked at. All of it is bounded, whatever processes do: beyond the bounds those forget first
/// that ended, then those that were not asked for or heard of for longest. Used by one thread.
class ProcessImages {
 public:
  struct Options {
    std::size_t most_processes = 16384;  ///< that run, as far as we know
    std::size_t most_ended = 2048;       ///< kept after their end
    Duration ended_kept = std::chrono::minutes(2);
    std::size_t most_mappings = 2u << 20;  ///< of all images; the one used last stays
    std::size_t most_past = 64;  ///< images of a process before other code took the place of some
    std::size_t most_past_mappings = 8192;               ///< of an image that is kept as past
    Duration past_apart = std::chrono::milliseconds(2);  ///< no two are kept that are closer
    std::size_t most_kept_files = 256;
    // For tests; by default the real ones.
    std::function<std::optional<ProcessMaps>(pid_t)> read_maps;
    std::function<Fd(pid_t, const Mapping&)> open_mapped;
    std::function<std::optional<KernelTime>(const Fd&)> born{};  ///< by when the file was made
    std::function<KernelTime()> now;
  };
  struct Cost {
    std::size_t reads = 0;  ///< of /proc/PID/maps
    std::size_t processes = 0;
    std::size_t mappings = 0;
    std::size_t kept_files = 0;
    std::uint64_t lost_events = 0;
  };
  static constexpr KernelTime latest = KernelTime::max();

  ProcessImages() : ProcessImages(Options()) {}
  explicit ProcessImages(Options options);

  /// In the order of their times.
  void handle(const ProcessEvent& event);
  /// Stacks of this process will be asked for, and of whom it forks: it is read now, and the files
  /// of its code are kept open, for it may delete them or be gone.
  void add_target(pid_t pid);
  /// The image of the process at that time. Null where the process ended before any event or read
  /// of it, or where its image of that time is not known. An image that was given out does not
  /// change: a mapping makes another one. Where was_read_later(), the answer lacks what was mapped
  /// in between until handle() has the events.
  std::shared_ptr<const ProcessImage> image_of(pid_t pid, KernelTime at = latest);
  /// The file behind a mapping of `image`, as open_mapped_file() opens it; `pid` is any process
  /// that has this image.
  Fd open(const ProcessImage& image, const Mapping& mapping, pid_t pid);
  /// Opens the perf maps of processes that make code, for when those are gone; of `pid` at once.
  void keep_perf_maps(KernelTime now) { perf_maps_.look_again(now); }
  void keep_perf_map(pid_t pid, KernelTime now) { perf_maps_.wanted(pid, now); }
  /// As PerfMap::open() does, and where the process has gone the one it had, if that was seen.
  PerfMap::File perf_map(pid_t pid) const { return perf_maps_.open(pid); }

  /// Whether what is known of the process was read from /proc after that time.
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
    KernelTime known_at{};   // events up to then are in it already
    pid_t forked_from = 0;   // where the image was not known when it was forked
    KernelTime forked_at{}, exec_at{};
    std::uint64_t losses = 0;  // that its image has survived
    bool is_target = false;
    bool was_read = false;  // in vain
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
  std::list<pid_t> running_, ended_;  // used last in front
  KeptFiles files_;
  KeptPerfMaps perf_maps_;
  std::shared_ptr<std::size_t> mappings_;  // shared with images that others still hold
  std::uint64_t last_id_ = 0;
  std::uint64_t losses_ = 0;
  std::uint64_t lost_events_ = 0;
  std::size_t reads_ = 0;
};

}  // namespace overdue
