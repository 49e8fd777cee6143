#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bpf/control.h"

namespace overdue {

/// What is late by the name of its thread, of the kinds that threads live through.
struct ThreadThresholds {
  std::vector<std::pair<std::string, Duration>> by_glob;     ///< the first that matches counts
  std::array<std::optional<Duration>, SPAN_COUNT> others{};  ///< by kind, where none does
};

/// From now on the kernel tells of spans of `kind` that take as long as `threshold`, at least 1 ns.
void set_threshold(session_control& control, span_kind kind, Duration threshold);

/// From now on the kernel looks at nobody's name, and tells of all that passes control.threshold_ns
/// of its kind. Returns when no program looks at the names of before, either: they may be changed.
void forget_thread_thresholds(session_control& control);

/// From now on the kernel looks at names, until forget_thread_thresholds(), which must have been
/// called since the last time. Globs beyond THREAD_THRESHOLDS are not matched by it: it then tells
/// of what is late by the least of those, and who asks decides. Throws Error as compile_glob().
void set_thread_thresholds(session_control& control, const ThreadThresholds& thresholds);

}  // namespace overdue
