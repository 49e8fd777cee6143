#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "target/selection.h"

namespace overdue {

/// Asks each JVM of a running target for the names of its compiled methods (JVM 17 or newer): the
/// JVM writes /tmp/perf-PID.map in its own file system, with its own rights. This runs code in the
/// process, at a safepoint, so only a user's request may lead here. A JVM that does not answer in
/// 6 s is left alone. Returns what became of each, one sentence a JVM, safe to print. Throws Error
/// if the target cannot be resolved, or is a program that has not started yet.
std::vector<std::string> ask_jvms_for_perf_maps(const TargetSelection& target);

/// Why the process must not be asked; empty if it may. SIGQUIT, with which HotSpot is asked, ends a
/// process that does not handle it.
std::string why_not_asked(pid_t pid);

}  // namespace overdue
