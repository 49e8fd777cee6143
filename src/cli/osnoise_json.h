#pragma once

#include <span>

#include "cli/osnoise_figures.h"
#include "sinks/json_writer.h"

namespace overdue {

/// "osnoise", "cpus", and "cause" where something stopped the run (else null): members of the
/// object `json` has open.
void write_osnoise(JsonWriter& json, const OsnoisePlan& plan, std::span<const OsnoiseCpu> cpus,
                   const OsnoiseStop* stop);

/// "cpus" alone.
void write_noise_cpus(JsonWriter& json, const OsnoisePlan& plan, std::span<const OsnoiseCpu> cpus);

}  // namespace overdue
