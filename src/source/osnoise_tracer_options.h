#pragma once

#include <string>
#include <vector>

#include "kernel/tracing_settings.h"

namespace overdue {

/// Throws Error (exit status 2) if the values of --backend or --tracer-option are wrong.
void check_tracer_words(const std::string& backend, const std::vector<std::string>& options);

/// Sets `asked_for` in `osnoise/options`, after the options that measuring needs: the tracer has
/// its threads, and a limit does not stop the machine. Throws Error if the kernel lacks an option.
void set_tracer_options(TracingSettings& settings, const std::vector<std::string>& asked_for);

}  // namespace overdue
