#pragma once

#include "sinks/figures.h"
#include "sinks/output.h"

namespace overdue {

/// Writes a latency report for people: the table, the legend of the marks used, histograms where
/// the table asks for them, and what was unfinished. `lost` decides which percentiles are marked.
void write_text_table(Output& output, const TableFigures& table, std::uint64_t lost, bool color);

/// Draws one distribution in at most 20 lines: bounds, a bar, the count.
void draw_histogram(Output& output, const RowFigures& row);

}  // namespace overdue
