#include "core/throttle_schema.h"

namespace overdue {
namespace {

constexpr Field throttle_fields[] = {
    OVERDUE_FIELD(sched_throttle, throttled_ns, nanoseconds, value,
                  "of the wait that ends at the same time"),
    OVERDUE_FIELD(sched_throttle, quota_ns, nanoseconds, value,
                  "CPU time that the cgroup has in each period"),
    OVERDUE_FIELD(sched_throttle, period_ns, nanoseconds, value, "that period"),
    OVERDUE_FIELD(sched_throttle, throttler_id, none, key, "of the controller `cpu`"),
    OVERDUE_FIELD(sched_throttle, names, opaque, value,
                  "of the cgroup and those above it: 72 bytes each, empty at the root"),
    OVERDUE_FIELD(
        sched_throttle, limit, none, value,
        "0: a CPU quota, 1: what real-time threads have; that of the root is of all of them"),
};

}  // namespace

const Schema sched_throttle_schema{
    .id = RECORD_SCHED_THROTTLE,
    .name = "throttle",
    .size = sizeof(sched_throttle),
    .fields = throttle_fields,
    .help = "whose limit kept a thread from running that runs again"};

}  // namespace overdue
