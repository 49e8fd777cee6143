#pragma once

#include <string>
#include <string_view>

#include "core/record.h"

namespace overdue {

/// Delivers the output of a kernel tracer in RECORD_TRACER_TEXT records.
void deliver_tracer_text(std::string_view text, const RecordHandler& handler);

/// Appends the text of such a record, up to 64 MiB in all: a recording is hostile input.
void append_tracer_text(const Record& record, std::string& text);

}  // namespace overdue
