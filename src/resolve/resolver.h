#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "bpf/span.h"
#include "core/user_copy.h"
#include "resolve/java_threads.h"
#include "resolve/known_frames.h"
#include "resolve/process_images.h"
#include "resolve/python_layout.h"
#include "resolve/resolved_stack.h"
#include "symbols/kernel_symbols.h"

namespace overdue {

/// Resolves the stacks of findings to frames with names. Never throws on bad input: an unresolved
/// frame keeps its module and offset, or its address, and the stack records why. Used by one
/// thread.
class Resolver {
 public:
  struct Options {
    /// False: addresses, modules, offsets and build ids (`--no-resolve`). Kernel functions are
    /// named anyway, because they cannot be named later.
    bool names = true;
    std::size_t max_kept_stacks = 8192;
    /// Unwinds user stacks of known frames at once, see KnownFrames: for thousands of stacks.
    bool remember_frames = false;
    /// Reads the kernel's symbols, at the first kernel stack unless read_ahead() was called; in a
    /// thread of its own if while_waiting() was called. Default: /proc/kallsyms. Tests pass their
    /// own.
    std::function<KernelSymbols()> read_kernel_symbols{};
  };
  struct Cost {
    std::uint64_t stacks = 0;
    std::uint64_t from_cache = 0;  ///< stacks answered from the cache
    std::uint64_t frames = 0;
    /// frames without a name; without a module if no names are wanted
    std::uint64_t unresolved = 0;
    std::uint64_t failed = 0;             ///< stacks that could not be read
    std::uint64_t unknown_processes = 0;  ///< stacks of unknown processes
  };
  /// Most bytes of a stack copy that are used.
  static constexpr std::size_t max_copy_bytes = 120u << 10;

  virtual ~Resolver() = default;
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// `at` is the time of the copy: the process may have executed another program since. With
  /// Python's frames, those replace the frames of the interpreter, if names are wanted.
  ResolvedStack user_stack(pid_t pid, const user_registers& registers, const UserCopy& copy,
                           KernelTime at = ProcessImages::latest);
  /// The interpreter of Python in the process, as it is now: none if no mapping looks like one.
  FoundPython python_of(pid_t pid);
  /// Whether the process has mapped a virtual machine of Java.
  bool runs_java(pid_t pid);
  /// Those of the threads `cut` of a virtual machine of Java that have longer names: see
  /// java_thread_names(). At most 256 threads; ids are those of the process's PID namespace.
  std::vector<NamedThread> java_thread_names(pid_t pid, std::span<const NamedThread> cut);
  /// Addresses found through frame pointers: an instruction, then return addresses.
  ResolvedStack raw_user_stack(pid_t pid, std::span<const std::uint64_t> addresses,
                               KernelTime at = ProcessImages::latest);
  /// Like raw_user_stack(), for the kernel.
  ResolvedStack kernel_stack(std::span<const std::uint64_t> addresses);

  const Cost& cost() const { return cost_; }
  /// Begins to read the kernel's symbols, so that this work takes no time from the target later.
  void read_ahead();
  /// Calls `meanwhile` every few ms while a stack waits for another process or for the kernel's
  /// list of functions. `meanwhile` must not ask for a stack.
  virtual void while_waiting(const std::function<void()>& meanwhile) { meanwhile_ = meanwhile; }

 protected:
  Resolver(ProcessImages& images, Options options);
  ProcessImages& images() { return images_; }
  const std::function<void()>& meanwhile() const { return meanwhile_; }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::uint64_t>& words) const;
  };
  using Kept = std::unordered_map<std::vector<std::uint64_t>, ResolvedStack, Hash>;

  /// Nothing on failure. `pid` is a process with this image.
  virtual std::optional<ResolvedStack> read_user_stack(const ProcessImage& image, pid_t pid,
                                                       const user_registers& registers,
                                                       const UserCopy& copy) = 0;
  virtual std::optional<FoundPython> read_python(const ProcessImage& image, pid_t pid) = 0;
  virtual std::optional<std::vector<NamedThread>> read_java_threads(
      const ProcessImage& image, pid_t pid, std::span<const NamedThread> cut) = 0;
  virtual std::optional<ResolvedStack> read_recorded_stack(
      const ProcessImage& image, pid_t pid, std::span<const std::uint64_t> addresses) = 0;

  ResolvedStack without_names(const ProcessImage* image, std::span<const std::uint64_t> addresses,
                              StackEnd end);
  ResolvedStack counted(ResolvedStack stack);
  void complete(const ProcessImage& image, ResolvedStack& stack) const;
  const ResolvedStack* kept(const std::vector<std::uint64_t>& key);
  void keep(std::vector<std::uint64_t> key, const ResolvedStack& stack);
  StackFrame kernel_frame(std::uint64_t address, bool is_return_address);
  KernelSymbols kernel_symbols();
  void read_kernel_symbols();

  ProcessImages& images_;
  Options options_;
  std::function<void()> meanwhile_;
  Cost cost_;
  Kept kept_;
  KnownFrames known_;
  std::unique_ptr<KernelSymbols> kernel_;
  std::future<KernelSymbols> reading_;
  KernelTime kernel_read_at_{};
  Duration kernel_rest_{};  // least time before the next read
};

}  // namespace overdue
