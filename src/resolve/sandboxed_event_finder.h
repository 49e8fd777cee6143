#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/time.h"
#include "resolve/worker_process.h"
#include "symbols/elf_events.h"

namespace overdue {

/// Finds events in files by a process in a sandbox, which gets a file as an open descriptor and can
/// do nothing but read it. A process that dies or is silent for too long costs that answer, and is
/// replaced for the next. Make it early, see WorkerProcess.
class SandboxedEventFinder final : public EventFinder {
 public:
  struct Options {
    WorkerProcess::Options worker{};
    Duration patience = std::chrono::seconds(20);  ///< with one file
    OpenFile open = open_regular;
    /// For tests: what the child does first, after system calls are forbidden.
    std::function<void()> probe{};
  };
  /// Throws Error where the sandbox cannot be had.
  SandboxedEventFinder() : SandboxedEventFinder(Options()) {}
  explicit SandboxedEventFinder(const Options& options);

  FunctionPlaces function(const Fd& file, std::string_view name) override;
  UsdtPlaces usdt(const Fd& file, std::string_view provider, std::string_view name) override;

 private:
  template <typename Answer>
  Answer ask(const Fd& file, std::string_view provider, std::string_view name);

  Duration patience_;
  WorkerProcess worker_;
};

}  // namespace overdue
