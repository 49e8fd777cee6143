#pragma once

#include <string_view>

#include "bpf/span.h"
#include "core/schema.h"

namespace overdue {

/// How `--span` and reports call a kind of span ("syscall", "irq", …); "unknown" for kinds of
/// versions we do not know.
std::string_view span_name(std::uint16_t kind);

/// Of RECORD_SPAN, which every probe that has spans writes.
extern const Schema span_schema;

}  // namespace overdue
