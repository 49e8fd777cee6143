#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/time.h"
#include "resolve/worker_process.h"
#include "symbols/elf_events.h"

namespace overdue {

/// Finds events in files through a sandboxed process, which gets a file as an open descriptor and
/// can only read it. If the process dies or does not answer in time, the request throws Error; the
/// next request gets a new process. Create it early, see WorkerProcess.
class SandboxedEventFinder final : public EventFinder {
 public:
  struct Options {
    WorkerProcess::Options worker{};
    Duration patience = std::chrono::seconds(20);  ///< longest time for one file
    OpenFile open = open_regular;
    /// For tests: called first in the child, after system calls are forbidden.
    std::function<void()> probe{};
  };
  /// Throws Error if the sandbox is unavailable.
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
