#include "core/chosen_schema.h"

#include <cstddef>

namespace overdue {
namespace {

constexpr Field chosen_fields[] = {
    OVERDUE_FIELD(chosen_threshold, threshold_ns, nanoseconds, value, "0: none yet"),
    OVERDUE_FIELD(chosen_threshold, operations, count, value,
                  "counted so far, without the waits for work and for time"),
    OVERDUE_FIELD(chosen_threshold, idle, count, value,
                  "waits for work and for time among the counted operations, estimated"),
    OVERDUE_FIELD(chosen_threshold, asked_ppm, none, value,
                  "percentile that was asked for, in millionths: 990,000 for p99"),
    OVERDUE_FIELD(chosen_threshold, used_ppm, none, value,
                  "percentile that was chosen: higher if too much would be late"),
    OVERDUE_FIELD(chosen_threshold, subject, none, key, "number of the system call"),
    OVERDUE_FIELD(chosen_threshold, span, opaque, key,
                  "kind of span, as src/bpf/span.h numbers them"),
    OVERDUE_FIELD(chosen_threshold, flags, opaque, value,
                  "1: of the system call `subject`; 2: at the end of the session"),
    OVERDUE_FIELD(chosen_threshold, name, text, key, "name of the user span"),
};

}  // namespace

const Schema chosen_threshold_schema{
    .id = RECORD_CHOSEN_THRESHOLD,
    .name = "chosen_threshold",
    .size = sizeof(chosen_threshold),
    .fields = chosen_fields,
    .help = "a threshold that is a percentile of the latencies measured so far"};

}  // namespace overdue
