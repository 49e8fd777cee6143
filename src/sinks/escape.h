#pragma once

#include <string_view>

#include "sinks/output.h"

namespace overdue {

/// Appends `text` as a JSON string, quotes included. The result is always valid JSON and safe on a
/// terminal: control characters become \n, \t or \u00NN; a byte that is not printable UTF-8 becomes
/// the text `\xNN`.
void append_json_string(Output& output, std::string_view text);

/// Appends `"name":`, preceded by a comma: the next member of an object that has some.
void append_json_key(Output& output, std::string_view name);

/// What becomes of backslashes: text as it came has them doubled, so that nothing can be forged;
/// text whose author has escaped it already (decoded arguments) keeps them.
enum class Backslashes { doubled, kept };

/// Appends printable(text), without making a string of it.
void append_printable(Output& output, std::string_view text,
                      Backslashes backslashes = Backslashes::doubled);

/// Appends printable(text) as one CSV field, quoted where RFC 4180 asks for it. One record stays
/// one line. In front of what a spreadsheet would take for a formula stands an apostrophe, which it
/// takes for the begin of a text.
void append_csv_field(Output& output, std::string_view text,
                      Backslashes backslashes = Backslashes::doubled);

}  // namespace overdue
