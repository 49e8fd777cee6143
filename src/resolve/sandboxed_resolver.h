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

/// Reads the files of processes in a child without privileges, which has access only to the files
/// handed to it. A child that dies or takes too long is replaced. A file that children die of (two
/// deaths, or one timeout) is handed to no other child. Overdue opens the files but does not read
/// them. Create it early, see WorkerProcess.
class SandboxedResolver : public Resolver {
 public:
  struct SandboxOptions {
    StackReader::Options reader{};  ///< `names` is taken from Resolver::Options
    WorkerProcess::Options worker{};
    Duration patience = std::chrono::seconds(10);  ///< longest time for one stack
    unsigned max_restarts = 200;  ///< number of restarts after which every stack fails
    /// Gets debug files that are not on this machine; may be empty. Its time does not count against
    /// `patience`.
    FetchDebugFile fetch_debug_file{};
    /// For tests: called in the child for each probe().
    std::function<void(std::uint32_t)> probe{};

    /// With source lines, which take more memory and time.
    static SandboxOptions with_lines();
  };
  struct SandboxCost {
    unsigned restarts = 0;
    unsigned timeouts = 0;          ///< restarts after a timeout
    std::size_t refused_files = 0;  ///< files that are no longer handed over
    std::uint64_t files = 0;        ///< files handed over
  };

  /// Throws Error if the sandbox is unavailable.
  explicit SandboxedResolver(ProcessImages& images) : SandboxedResolver(images, {}, {}) {}
  SandboxedResolver(ProcessImages& images, const Options& options, SandboxOptions sandbox);

  void while_waiting(const std::function<void()>& meanwhile) override;
  const SandboxCost& sandbox_cost() const { return sandbox_cost_; }
  /// Process id of the child; 0 before the first stack.
  pid_t child_pid() const { return worker_.worker_pid(); }
  /// Process id of the process that forks the children.
  pid_t maker_pid() const { return worker_.maker_pid(); }
  /// For tests: false if the child died.
  bool probe(std::uint32_t what);

 private:
  enum class Outcome { done, unknown_space, died, timed_out };
  struct Answer {
    ResolvedStack stack;
    resolve_message::Python python{};
    std::vector<NamedThread> java_threads{};
  };

  std::optional<ResolvedStack> read_user_stack(const ProcessImage& image, pid_t pid,
                                               const user_registers& registers,
                                               const UserCopy& copy) override;
  std::optional<ResolvedStack> read_recorded_stack(
      const ProcessImage& image, pid_t pid, std::span<const std::uint64_t> addresses) override;

  std::optional<FoundPython> read_python(const ProcessImage& image, pid_t pid) override;
  std::optional<std::vector<NamedThread>> read_java_threads(
      const ProcessImage& image, pid_t pid, std::span<const NamedThread> cut) override;

  std::optional<Answer> ask(const ProcessImage& image, pid_t pid,
                            std::span<const std::byte> request);
  Outcome exchange(const ProcessImage& image, std::span<const std::byte> request, Answer& to);
  Outcome send_space(const ProcessImage& image, KernelTime deadline);
  Outcome receive_answer(const ProcessImage& image, Answer& to, KernelTime deadline);
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
  std::optional<FileKey> last_file_;          // the last one handed over for this request
  std::map<FileKey, unsigned> blamed_files_;  // blame of files handed over last before a failure
  std::map<pid_t, unsigned> blamed_pids_;     // blame of processes, for failures without a file
};

}  // namespace overdue
