#pragma once

#include <span>

#include "cli/osnoise_figures.h"
#include "sinks/json_writer.h"

namespace overdue {

/// Writes "osnoise", "cpus" and "cause" as members of the open object; "cause" is null if no limit
/// stopped the run.
void write_osnoise(JsonWriter& json, const OsnoisePlan& plan, std::span<const OsnoiseCpu> cpus,
                   const OsnoiseStop* stop);

/// Writes "cpus" alone.
void write_noise_cpus(JsonWriter& json, const OsnoisePlan& plan, std::span<const OsnoiseCpu> cpus);

}  // namespace overdue
