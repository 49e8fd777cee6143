#pragma once

#include <vector>

#include "sinks/figures.h"
#include "sinks/output.h"

namespace overdue {

/// Writes a latency report for people: the table, the legend of the marks used, histograms if the
/// table asks for them, and the unfinished spans. `lost` decides which percentiles are marked.
void write_text_table(Output& output, const TableFigures& table, std::uint64_t lost, bool color);

/// Lists the spans that were open at the end, after an empty line; nothing if there are none.
void write_text_unfinished(Output& output, const std::vector<OpenSpan>& oldest_first);

/// Draws one distribution in at most 20 lines: bounds, a bar, the count.
void draw_histogram(Output& output, const RowFigures& row);

}  // namespace overdue
