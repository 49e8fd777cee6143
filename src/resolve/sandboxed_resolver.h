#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>

#include "resolve/file_source.h"
#include "resolve/message.h"
#include "resolve/resolver.h"
#include "resolve/stack_reader.h"
#include "resolve/worker_process.h"
#include "symbols/file_key.h"

namespace overdue {

/// Lets a child read the files of the processes: one without privileges and without a way to get at
/// anything but what is handed to it. It is killed and replaced when it takes too long or dies, and
/// what it died of is not handed to the next one. This process opens files, and reads none of them.
/// Make it early, see WorkerProcess.
class SandboxedResolver : public Resolver {
 public:
  struct SandboxOptions {
    StackReader::Options reader{};  ///< `names` is that of Resolver::Options
    WorkerProcess::Options worker{};
    Duration patience = std::chrono::seconds(10);  ///< for one stack
    unsigned most_restarts = 200;                  ///< after these, every stack fails
    /// Debug files that are not on this machine, by build id; empty where they cannot be had. What
    /// it takes is not counted against `patience`.
    FetchDebugFile fetch_debug_file{};
    /// For tests: what the child does when it is told to by probe().
    std::function<void(std::uint32_t)> probe{};

    /// With source lines, which take more memory and time.
    static SandboxOptions with_lines();
  };
  struct SandboxCost {
    unsigned restarts = 0;
    unsigned timeouts = 0;          ///< of those
    std::size_t refused_files = 0;  ///< that the child was killed by
    std::uint64_t files = 0;        ///< handed over
  };

  /// Throws Error where the sandbox cannot be had.
  explicit SandboxedResolver(ProcessImages& images) : SandboxedResolver(images, {}, {}) {}
  SandboxedResolver(ProcessImages& images, const Options& options, SandboxOptions sandbox);

  void while_waiting(const std::function<void()>& meanwhile) override;
  const SandboxCost& sandbox_cost() const { return sandbox_cost_; }
  /// 0 before the first stack.
  pid_t child_pid() const { return worker_.worker_pid(); }
  /// Of the process that makes children.
  pid_t maker_pid() const { return worker_.maker_pid(); }
  /// For tests: false where the child did not survive it.
  bool probe(std::uint32_t what);

 private:
  enum class Outcome { done, unknown_space, died, timed_out };

  std::optional<ResolvedStack> read_user_stack(const ProcessImage& image, pid_t pid,
                                               const user_registers& registers,
                                               std::span<const std::byte> copy) override;
  std::optional<ResolvedStack> read_recorded_stack(
      const ProcessImage& image, pid_t pid, std::span<const std::uint64_t> addresses) override;

  std::optional<ResolvedStack> ask(const ProcessImage& image, pid_t pid,
                                   std::span<const std::byte> request);
  Outcome exchange(const ProcessImage& image, std::span<const std::byte> request,
                   ResolvedStack& stack);
  Outcome send_space(const ProcessImage& image, KernelTime deadline);
  Outcome receive_stack(const ProcessImage& image, ResolvedStack& stack, KernelTime deadline);
  bool answer(Fd file, std::uint32_t owner, KernelTime deadline);
  Fd wanted_file(const ProcessImage& image, const resolve_message::Wanted& wanted,
                 std::uint32_t& owner);
  bool start();
  void end_child(Outcome outcome);
  void blame(pid_t pid, Outcome outcome);

  SandboxOptions sandbox_;
  OpenedFiles files_;
  SandboxCost sandbox_cost_;
  WorkerProcess worker_;
  PacketSocket child_;
  std::unordered_set<std::uint64_t> sent_spaces_;
  std::optional<FileKey> last_file_;          // of this request
  std::map<FileKey, unsigned> blamed_files_;  // how often a child died when it had just got it
  std::map<pid_t, unsigned> blamed_pids_;     // … of a stack of this process, and of no file
};

}  // namespace overdue
