#include "sinks/finding_sections.h"

#include <fmt/format.h>

#include "base/text.h"
#include "core/finding_members.h"
#include "sinks/csv_finding.h"
#include "sinks/text_finding.h"
#include "sinks/text_format.h"

namespace overdue {

void FindingSection::members(Members& member, const ReportContext&) const {
  describe(member, finding_);
}

std::string FindingSection::text(const ReportContext& context) const {
  return folded_lines(finding_text(finding_, context.info,
                                   {.color = context.color,
                                    .whole_stacks = context.whole_stacks,
                                    .threshold = shows_threshold_ || context.whole_stacks}),
                      context.width);
}

void FindingSection::rows(CsvRows& csv, const ReportContext& context) const {
  csv.row([&](Members& cell) { describe_finding_cells(cell, finding_, context.info); });
}

void RepeatsSection::members(Members& member, const ReportContext&) const {
  describe(member, repeats_);
}

std::string RepeatsSection::text(const ReportContext&) const {
  const std::string longest = duration_text(repeats_.longest_ns);
  const std::string times =
      repeats_.count == 1
          ? longest
          : fmt::format("{} in all, longest {}", duration_text(repeats_.latency_ns), longest);
  return fmt::format("{} more like #{}: {}, {}\n", grouped(repeats_.count), repeats_.number,
                     printable(repeats_.name), times);
}

}  // namespace overdue
