#include "sinks/text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "sinks/latency_format.h"
#include "sinks/text_finding.h"
#include "sinks/text_format.h"
#include "sinks/text_table.h"

namespace overdue {

void TextSink::write_header(const SessionInfo& info, bool with_duration) {
  if (header_written_) return;
  header_written_ = true;
  output_.append(session_header(info, with_duration));
}

void TextSink::record(const Record& record) {
  write_header(info_, false);
  records_.write(record, info_);
}

void TextSink::table(const LatencyTable& table, bool last) {
  if (last) {
    table_.emplace(table);
    return;
  }
  write_header(info_, false);
  const WallTime start = info_.wall(info_.start + intervals_);
  intervals_ += table.wall;
  output_.append(fmt::format("{} to {}, {}\n", local_time_of_day(start),
                             local_time_of_day(info_.wall(info_.start + intervals_)),
                             format_duration(table.wall)));
  write_text_table(output_, TableFigures(table), 0, color_);
  output_.append('\n');
  output_.flush();
}

void TextSink::unfinished(const std::vector<OpenSpan>& spans) {
  if (spans.empty()) return;
  write_header(info_, false);
  write_text_unfinished(output_, oldest_first(spans));
}

void TextSink::finding(const Finding& finding) {
  write_header(info_, false);
  if (findings_++ > 0) output_.append('\n');
  const bool has_news = finding.threshold_ns != threshold_ns_ || whole_stacks_;
  threshold_ns_ = finding.threshold_ns;
  output_.append(folded_lines(
      finding_text(finding, info_,
                   {.color = color_, .whole_stacks = whole_stacks_, .threshold = has_news}),
      width_));
}

void TextSink::more_like(const Repeats& repeats) {
  const std::string times =
      repeats.count == 1 ? duration_text(repeats.longest_ns)
                         : fmt::format("{} in all, longest {}", duration_text(repeats.latency_ns),
                                       duration_text(repeats.longest_ns));
  output_.append(fmt::format("{}{} more like #{}: {}, {}\n", more_ ? "" : "\n",
                             grouped(repeats.count), repeats.number, printable(repeats.name),
                             times));
  more_ = true;
}

void TextSink::window(const LatencyWindow& window) {
  write_header(info_, false);
  if (findings_++ > 0) output_.append('\n');
  output_.append(latency_format(window, info_, color_));
}

void TextSink::names(const std::vector<FoundName>& names) {
  names_only_ = true;
  std::size_t width = 0;
  for (const FoundName& found : names)
    width = std::max(width, display_width(printable(found.name)));
  for (const FoundName& found : names) {
    std::string line = printable(found.name);
    if (found.caller)
      line += fmt::format("{}  {} ({})", std::string(width - display_width(line), ' '),
                          printable(found.caller->function), printable(found.caller->library));
    output_.append(line + "\n");
  }
}

void TextSink::end(const SessionInfo& info, const Receipt& receipt) {
  const bool streamed = header_written_;
  if (!names_only_) write_header(info, true);
  if (table_) {
    const bool after_records =
        streamed && intervals_ == Duration{};  // intervals end in an empty line
    if (after_records) output_.append('\n');
    if (streamed)
      output_.append(fmt::format("whole session, {}\n", duration_text(table_->wall_ns)));
    write_text_table(output_, *table_, receipt.lost(), color_);
  }
  const bool ends_empty = intervals_ != Duration{} && !table_;
  if (!names_only_ && (table_ || streamed) && !ends_empty) output_.append('\n');
  for (const std::string& line : receipt_lines(info, receipt))
    output_.append(fmt::format("{}{}\n", names_only_ ? "# " : "", line));
  output_.flush();
}

}  // namespace overdue
