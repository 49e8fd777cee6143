#pragma once

#include "bpf/origin.h"
#include "core/schema.h"

namespace overdue {

#define ORIGIN_FIELD(type, name, member, unit, help)                                            \
  ::overdue::Field {                                                                            \
    name, offsetof(type, origin.member), sizeof(process_origin::member), ::overdue::Unit::unit, \
        ::overdue::Role::key, help                                                              \
  }

/// The fields of the struct process_origin of a wire struct, for its array of fields.
#define ORIGIN_FIELDS(type)                                                                        \
  ORIGIN_FIELD(type, "process_start_ns", start_ns, nanoseconds,                                    \
               "start of the process (CLOCK_MONOTONIC)"),                                          \
      ORIGIN_FIELD(type, "parent_pid", parent_pid, pid, "process that started it; 0: the kernel"), \
      ORIGIN_FIELD(type, "process_name", process, text, "name of its first thread"),               \
      ORIGIN_FIELD(type, "parent", parent, text, "name of the process that started it")

}  // namespace overdue
