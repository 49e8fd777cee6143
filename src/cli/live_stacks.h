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
#include "resolve/file_source.h"
#include "resolve/process_images.h"
#include "resolve/resolver.h"

namespace overdue {

/// Names the stacks of processes that run now or have just ended: files are read by a child without
/// privileges, and what is mapped where is followed from begin() on. Where there can be no such
/// child, no file is read, and standard error says so at once. Make it before anything is
/// loaded into the kernel: the child must not inherit that. Used by one thread.
class LiveStacks final : public StackNamer {
 public:
  struct Options {
    bool sandbox = true;  ///< false reads files of other people's with our rights
    bool names = true;    ///< false leaves frames as modules and offsets
    bool lines = false;   ///< source lines and inlined functions too
    FetchDebugFile fetch_debug_file{};
  };
  LiveStacks() : LiveStacks(Options{}) {}
  explicit LiveStacks(const Options& wanted);

  /// Keeps the files of the target's processes at hand, since they may end or delete them.
  void begin(const SessionInfo& info);
  /// Reads what most programs are made of, so that their first stacks need not wait for it.
  void warm_up();
  /// Takes in what the kernel has said of mappings, but for the last moment, or longer: of what
  /// programs a process had before, the last few are kept only, so who asks late must not hear of
  /// what came after.
  void follow(Duration but_for = std::chrono::milliseconds(2));
  /// A file with code in the memory of a process. The same number is the same file, unchanged.
  struct MappedFile {
    std::uint64_t start = 0, end = 0, file_offset = 0;
    std::uint64_t number = 0;
  };
  /// Those that can still be had.
  std::vector<MappedFile> files_of(std::uint32_t pid, KernelTime at);
  /// Calls `meanwhile` every few ms while a stack waits for the child.
  void while_waiting(const std::function<void()>& meanwhile) {
    resolver_->while_waiting(meanwhile);
  }
  const Resolver::Cost& cost() const { return resolver_->cost(); }
  /// What the reader of a report must know, but for how many frames have no name.
  std::vector<std::string> notes() const;

  /// A stack of the process will be asked for, when it may be gone.
  void will_name(std::uint32_t pid) {
    images_.keep_perf_map(static_cast<pid_t>(pid), KernelClock::now());
  }

  Stack kernel_stack(std::span<const std::uint64_t> addresses) override;
  UserStack user_stack(std::uint32_t pid, const user_registers& registers,
                       std::span<const std::byte> copy, KernelTime at) override;
  std::string thread_name(std::uint32_t pid, std::uint32_t tid) override;

 private:
  void warm_up(pid_t pid, std::uint64_t address);
  void note_name(const ProcessEvent& event);
  void follow_until(KernelTime until);
  void follow_image(pid_t pid, KernelTime at);

  ProcessImages images_;
  std::unordered_map<std::uint32_t, std::string> names_;  ///< of threads; within bounds
  std::unique_ptr<Resolver> resolver_;
  std::optional<MmapEvents> events_;
  /// Device, inode, size, time of change.
  using FileIdentity = std::array<std::uint64_t, 5>;
  std::map<FileIdentity, std::uint64_t> file_numbers_;
  std::string without_sandbox_, without_events_;  ///< why; empty: it is there
};

}  // namespace overdue
