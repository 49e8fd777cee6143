#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "core/session_info.h"
#include "core/stack_namer.h"
#include "kernel/mmap_events.h"
#include "live/java_threads.h"
#include "live/python_programs.h"
#include "resolve/file_source.h"
#include "resolve/process_images.h"
#include "resolve/resolver.h"

namespace overdue {

/// Names the stacks of processes that run now or have just ended. A child without privileges reads
/// the files. LiveStacks follows mappings from begin() on. If no such child can be made, no file is
/// read, and a message on standard error says so at once. Construct it before anything is loaded
/// into the kernel: the child must not inherit that. Used by one thread.
class LiveStacks final : public StackNamer {
 public:
  struct Options {
    bool sandbox = true;  ///< false: reads files of other users with Overdue's rights
    bool names = true;    ///< false: frames stay modules and offsets
    bool lines = false;   ///< true: adds source lines and inlined functions
    FetchDebugFile fetch_debug_file{};
    /// Thousands of stacks will come: the frames of the first ones are kept to unwind the others
    /// with. Not with `lines`, which come late for some frames.
    bool many_stacks = false;
  };
  LiveStacks() : LiveStacks(Options{}) {}
  explicit LiveStacks(const Options& wanted);

  /// Keeps the files of the target's processes open: a process may end, or delete its files.
  void begin(const SessionInfo& info);
  /// From now on, looks for interpreters of Python, and hands them to `learn`.
  void take_python(const LearnPython& learn) { python_.teach(learn); }
  /// Adds the full names of Java threads, also of some that have ended.
  void add_names(Names& names) const { java_.add_to(names); }
  /// Likewise; false if there are none that the last call did not have.
  bool add_new_names(Names& names) {
    if (!java_.take_news()) return false;
    java_.add_to(names);
    return true;
  }
  /// Reads the files that most programs use, so that their first stacks need not wait for them.
  void warm_up();
  /// Handles the kernel's events of mappings, except those of the last `but_for`. Of the former
  /// programs of a process only the last few are kept, so a caller that names stacks late must
  /// leave the newer events unread for longer.
  void follow(Duration but_for = std::chrono::milliseconds(2));
  /// A file with code in the memory of a process. The same number is the same file, unchanged.
  struct MappedFile {
    std::uint64_t start = 0, end = 0, file_offset = 0;
    std::uint64_t number = 0;
  };
  /// The files of process `pid` at time `at`, as far as they can still be opened.
  std::vector<MappedFile> files_of(std::uint32_t pid, KernelTime at);
  /// Calls `meanwhile` every few ms while a stack waits for the child.
  void while_waiting(const std::function<void()>& meanwhile) {
    meanwhile_ = meanwhile;
    resolver_->while_waiting(meanwhile);
  }
  const Resolver::Cost& cost() const { return resolver_->cost(); }
  /// Notes for the reader of a report, without the number of frames that have no name.
  std::vector<std::string> notes() const;

  /// Announces that a stack of the process will be named, perhaps after the process has ended.
  void will_name(std::uint32_t pid) {
    images_.keep_perf_map(static_cast<pid_t>(pid), KernelClock::now());
  }

  Stack kernel_stack(std::span<const std::uint64_t> addresses) override;
  UserStack user_stack(std::uint32_t pid, const user_registers& registers, const UserCopy& copy,
                       KernelTime at) override;
  std::string thread_name(std::uint32_t pid, std::uint32_t tid) override;

 private:
  void warm_up(pid_t pid, std::uint64_t address);
  void note_name(const ProcessEvent& event);
  void follow_until(KernelTime until);
  void follow_image(pid_t pid, KernelTime at);

  ProcessImages images_;
  std::unordered_map<std::uint32_t, std::string> names_;  ///< thread names by tid; bounded
  std::unique_ptr<Resolver> resolver_;
  std::function<void()> meanwhile_;
  PythonPrograms python_;
  JavaThreads java_;
  std::optional<MmapEvents> events_;
  /// Device, inode, size, time of change.
  using FileIdentity = std::array<std::uint64_t, 5>;
  std::map<FileIdentity, std::uint64_t> file_numbers_;
  std::string without_sandbox_, without_events_;  ///< why there is none; empty: there is one
};

}  // namespace overdue
