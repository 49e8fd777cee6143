#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/options.h"
#include "core/session_info.h"
#include "target/spawn.h"

namespace overdue {

/// Which functions the kernel's own tracer tells of.
enum class TracedFunctions : std::uint8_t {
  none,
  entries,  ///< when each began, and who called it
  graph,    ///< when it ended, too
};

/// What the kernel's own tracer is to do.
struct KernelTracerRequest {
  std::string tracer;  ///< "wakeup_rt", "irqsoff", …
  bool events = false;
  TracedFunctions functions = TracedFunctions::none;
  std::optional<Duration> duration;
  std::vector<std::string> program = {};  ///< runs meanwhile; may be empty
  SpawnOptions spawn = {};
  OutputOptions output;
};

/// Runs the kernel's latency tracer of that name in an instance of our own until the time is over
/// or a signal comes, or the program has ended, and reports what it has seen. Nothing outside of
/// the instance is changed. Returns the exit status, which is the program's. Throws Error where the
/// kernel does not have it, or refuses.
int run_kernel_tracer(const KernelTracerRequest& request, const Kernel& kernel);

/// What a tracer has left when it was stopped.
struct KernelTrace {
  std::string text;
  std::string longest_us;  ///< "0": it has seen nothing
  OwnUse own{};
};

/// The same of any tracer, with what to do with what it has seen: `begin` is called when it runs,
/// and `end` when it has stopped.
int run_in_instance(const KernelTracerRequest& request, const Kernel& kernel,
                    const std::function<void(const SessionInfo&)>& begin,
                    const std::function<void(SessionInfo, const KernelTrace&)>& end);

}  // namespace overdue
