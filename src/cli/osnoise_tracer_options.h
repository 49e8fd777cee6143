#pragma once

#include <string>
#include <vector>

#include "kernel/tracing_settings.h"

namespace overdue {

/// Of --backend and --tracer-option. Throws Error of a wrong command line.
void check_tracer_words(const std::string& backend, const std::vector<std::string>& options);

/// Sets `asked_for` in `osnoise/options`, and what measuring needs: that there are threads, and
/// that the machine does not stop with the run. Throws Error where the kernel has no such option.
void set_tracer_options(TracingSettings& settings, const std::vector<std::string>& asked_for);

}  // namespace overdue
