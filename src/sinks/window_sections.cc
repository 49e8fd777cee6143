#include "sinks/window_sections.h"

#include "core/window_members.h"
#include "sinks/latency_format.h"

namespace overdue {

void WindowSection::members(Members& member, const ReportContext&) const {
  describe(member, window_);
}

std::string WindowSection::text(const ReportContext& context) const {
  return latency_format(window_, context.info, context.color);
}

void WindowSection::rows(CsvRows& csv, const ReportContext&) const {
  csv.row([&](Members& cell) { describe_window_cells(cell, window_); });
}

void WorstSection::members(Members& member, const ReportContext& context) const {
  if (context.has_lines) return;
  member("worst", windows_, {.help = "the longest latencies, longest first", .below = true});
}

std::vector<SectionPtr> WorstSection::lines() const {
  std::vector<SectionPtr> lines;
  for (const LatencyWindow& window : windows_)
    lines.push_back(std::make_shared<WindowSection>(window));
  return lines;
}

std::string WorstSection::text(const ReportContext& context) const {
  std::string text;
  for (const LatencyWindow& window : windows_) {
    if (!text.empty()) text += '\n';
    text += latency_format(window, context.info, context.color);
  }
  return text;
}

void WorstSection::rows(CsvRows& csv, const ReportContext&) const {
  csv.rows<LatencyWindow>(windows_, describe_window_cells);
}

}  // namespace overdue
