#pragma once

#include "bpf/socket_queues.h"
#include "core/schema.h"

namespace overdue {

/// The schemas of struct socket_queue and struct softnet_counts.
extern const Schema socket_queue_schema, softnet_schema;

}  // namespace overdue
