#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bpf/control.h"

namespace overdue {

/// Thresholds by the name of the thread, for spans in which a thread is throughout.
struct ThreadThresholds {
  std::vector<std::pair<std::string, Duration>> by_glob;         ///< the first that matches counts
  std::array<std::optional<Duration>, SPAN_KINDS_MAX> others{};  ///< by kind, if no glob matches
};

/// From now on, programs report spans of `kind` that last `threshold`, at least 1 ns, or longer.
void set_threshold(session_control& control, span_kind kind, Duration threshold);

/// From now on, programs ignore names and report all spans that pass control.threshold_ns of their
/// kind. Returns when no running program reads the old names: they may then be changed.
void forget_thread_thresholds(session_control& control);

/// From now on, programs look at names. Call forget_thread_thresholds() before each further call.
/// Programs do not match globs beyond THREAD_THRESHOLDS: they report spans that are late by the
/// least of these thresholds, and the caller decides. Throws Error as compile_glob().
void set_thread_thresholds(session_control& control, const ThreadThresholds& thresholds);

}  // namespace overdue
