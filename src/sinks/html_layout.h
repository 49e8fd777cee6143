#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "sinks/html_members.h"

namespace overdue {

/// `text`, which is hostile, for use between tags and in attributes; one line.
std::string html_text(std::string_view text);
/// Lines of text in a block that keeps its spaces.
std::string html_block(std::string_view lines);

/// The members of an object, laid out for people: sentences, facts, tables whose rows can be
/// sorted, bars, findings. `begin` is the start of the session, for points in time.
std::string html_layout(const HtmlValue& object, KernelTime begin);

// For the files of the layout.

/// "total" for `total_ns`, "on CPU" for `oncpu_ns`: the words for a key, escaped.
std::string html_label(std::string_view key);
/// A value in the line, with its unit.
std::string html_inline(const HtmlValue& value, KernelTime begin);
/// An object of Look::parts as a bar with its words. `splits`: the parts of some of its members.
std::string html_bar(const HtmlValue& parts, const std::vector<const HtmlValue*>& splits);
/// A list of objects as a table.
std::string html_table(const HtmlValue& list, KernelTime begin);
/// Buckets of a distribution as a drawing.
std::string html_histogram(const HtmlValue& list);
/// Whether a value is a list of buckets.
bool is_histogram(const HtmlValue& value);
/// Whether a value has nothing to show.
bool is_empty(const HtmlValue& value);

}  // namespace overdue
