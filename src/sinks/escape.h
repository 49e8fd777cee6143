#pragma once

#include <string_view>

#include "sinks/output.h"

namespace overdue {

/// Appends `text` as a JSON string, quotes included. The result is always valid JSON and safe on a
/// terminal: control characters become \n, \t or \u00NN; a byte that is not printable UTF-8 becomes
/// the text `\xNN`.
void append_json_string(Output& output, std::string_view text);

/// Appends a comma and `"name":`, for every member of an object after the first.
void append_json_key(Output& output, std::string_view name);

/// Treatment of backslashes. They are doubled in raw text, which could otherwise forge an escape.
/// Text that is escaped already (decoded arguments) keeps them.
enum class Backslashes { doubled, kept };

/// Appends printable(text), without a temporary string.
void append_printable(Output& output, std::string_view text,
                      Backslashes backslashes = Backslashes::doubled);

/// Appends printable(text) as one CSV field, quoted if RFC 4180 requires it. One record stays one
/// line. A text that a spreadsheet would take for a formula gets an apostrophe in front, which
/// marks the begin of a text.
void append_csv_field(Output& output, std::string_view text,
                      Backslashes backslashes = Backslashes::doubled);

}  // namespace overdue
