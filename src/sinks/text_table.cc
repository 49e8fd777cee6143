#include "sinks/text_table.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::string_view dim = "\x1b[2m", red = "\x1b[31m", normal = "\x1b[0m";
constexpr std::size_t errnos_shown = 3;
constexpr std::size_t unfinished_shown = 20;

struct TextColumn {
  std::string heading;
  bool left;  ///< left-aligned, for text
};
struct Line {
  std::vector<std::string> cells;
  bool has_errors;
};

/// "syscalls" → "SYSCALL": the heading of the name column.
std::string heading_of(std::string_view title) {
  if (title.ends_with('s')) title.remove_suffix(1);
  std::string heading;
  for (const char c : title)
    heading += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return heading.empty() ? "NAME" : heading;
}

std::string who(std::uint32_t id, std::string_view comm) {
  // A row for many processes or threads has a name but no id.
  return id == 0 ? printable(comm) : fmt::format("{} {}", id, printable(comm));
}

std::string percentile(const RowFigures& row, const Histogram::Quantile& quantile,
                       std::uint64_t lost) {
  return (row.certain(quantile, lost) ? "" : "~") + duration_text(quantile.value_ns);
}

/// The errors by name, and the numbers of calls without a latency.
std::string notes(const RowFigures& row) {
  std::string text;
  for (std::size_t i = 0; i < std::min(errnos_shown, row.errnos.size()); ++i)
    text += fmt::format("{}{} {}", i ? ", " : "", printable(row.errnos[i].first),
                        grouped(row.errnos[i].second));
  if (row.errnos.size() > errnos_shown)
    text += ", " + counted(row.errnos.size() - errnos_shown, "other kind");
  const auto add = [&text](const std::string& note) { text += (text.empty() ? "" : "; ") + note; };
  if (row.unreturned > 0) add(grouped(row.unreturned) + " never returned");
  if (row.untimed > 0) add(grouped(row.untimed) + " not timed");
  if (row.refused > 0) add(grouped(row.refused) + " refused");
  return text;
}

/// The owners of a row by name, cgroup and parent.
std::vector<std::string> owners_of(const GroupBy& by, const RowFigures& row) {
  std::vector<std::string> texts;
  const Owner owner = row.owner.value_or(Owner{});
  if (by.name) texts.push_back(owner_text(owner, Whose::name, row.processes));
  if (by.cgroup) texts.push_back(owner_text(owner, Whose::cgroup, row.processes));
  if (by.parent) texts.push_back(owner_text(owner, Whose::parent, row.processes));
  return texts;
}

std::vector<std::string> cells_of(const TableFigures& table, const RowFigures& row,
                                  std::uint64_t lost) {
  std::vector<std::string> cells;
  if (table.by.span) cells.push_back(row.span.value_or(""));
  if (table.by.process)
    cells.push_back(row.process ? who(row.process->pid, row.process->comm) : "");
  if (table.by.thread) cells.push_back(row.thread ? who(row.thread->tid, row.thread->comm) : "");
  for (std::string& owner : owners_of(table.by, row)) cells.push_back(std::move(owner));
  if (table.by.container) cells.push_back(row.container ? printable(*row.container) : "");
  if (table.by.library) cells.push_back(row.library ? printable(*row.library) : "");
  if (table.by.caller) cells.push_back(row.caller ? printable(*row.caller) : "");
  cells.push_back(printable(row.name) + (row.late ? "*" : ""));
  cells.push_back(grouped(row.calls));
  cells.push_back(grouped(row.errors));
  if (row.timed == 0) {
    cells.insert(cells.end(), 7, "-");
  } else {
    for (const std::string& cell :
         {duration_text(row.total_ns), duration_text(row.avg_ns), percentile(row, row.p50, lost),
          percentile(row, row.p95, lost), percentile(row, row.p99, lost), duration_text(row.max_ns),
          percent_of(row.total_ns, table.wall_ns)})
      cells.push_back(cell);
  }
  cells.push_back(notes(row));
  return cells;
}

std::vector<TextColumn> columns_of(const TableFigures& table) {
  std::vector<TextColumn> columns;
  if (table.by.span) columns.push_back({"SPAN", true});
  if (table.by.process) columns.push_back({"PROCESS", true});
  if (table.by.thread) columns.push_back({"THREAD", true});
  if (table.by.name) columns.push_back({"NAME", true});
  if (table.by.cgroup) columns.push_back({"CGROUP", true});
  if (table.by.parent) columns.push_back({"PROCESSES", true});
  if (table.by.container) columns.push_back({"CONTAINER", true});
  if (table.by.library) columns.push_back({"LIBRARY", true});
  if (table.by.caller) columns.push_back({"CALLER", true});
  columns.push_back({table.by.span ? "NAME" : heading_of(table.title), true});
  for (const char* heading :
       {table.by.span ? "COUNT" : "CALLS", table.by.span ? "FAILED" : "ERRORS", "TOTAL", "AVG",
        "P50", "P95", "P99", "MAX", "%WALL"})
    columns.push_back({heading, false});
  columns.push_back({"NOTES", true});
  return columns;
}

/// One line of cells, padded to `widths`, without trailing spaces.
std::string aligned(const std::vector<TextColumn>& columns, const std::vector<std::size_t>& widths,
                    const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - display_width(cells[i]), ' ');
    if (i > 0) line += "  ";
    line += columns[i].left ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void write_colored(Output& output, std::string_view color, const std::string& line) {
  output.append(color);
  output.append(line);
  if (!color.empty()) output.append(normal);
  output.append('\n');
}

void write_lines(Output& output, const TableFigures& table, const std::vector<Line>& lines,
                 bool color) {
  std::vector<TextColumn> columns = columns_of(table);
  const bool has_notes =
      std::ranges::any_of(lines, [](const Line& line) { return !line.cells.back().empty(); });
  if (!has_notes) columns.back().heading.clear();
  std::vector<std::string> headings;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = columns[i].heading.size();
    for (const Line& line : lines) width = std::max(width, display_width(line.cells[i]));
    widths.push_back(width);
    headings.push_back(columns[i].heading);
  }
  write_colored(output, color ? dim : "", aligned(columns, widths, headings));
  for (const Line& line : lines)
    write_colored(output, color && line.has_errors ? red : "",
                  aligned(columns, widths, line.cells));
}

/// Writes the meaning of each mark that the table contains.
void write_legend(Output& output, const TableFigures& table, std::uint64_t lost) {
  const auto any = [&](auto condition) { return std::ranges::any_of(table.rows, condition); };
  if (any([&](const RowFigures& row) { return row.timed > 0 && !row.complete(lost); }))
    output.append("~ a percentile that the calls lost or not timed could have changed\n");
  if (any([](const RowFigures& row) { return row.late; }))
    output.append("* first seen after the discovery phase\n");
  if (any([](const RowFigures& row) { return row.timed == 0; }))
    output.append("- no latency: no such call returned, or none was timed\n");
}

}  // namespace

void write_text_unfinished(Output& output, const std::vector<OpenSpan>& unfinished) {
  if (unfinished.empty()) return;
  output.append("\nUnfinished at the end:\n");
  const std::size_t shown = std::min(unfinished_shown, unfinished.size());
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i)
    width = std::max(width, display_width(printable(unfinished[i].name)));
  for (std::size_t i = 0; i < shown; ++i) {
    const OpenSpan& span = unfinished[i];
    const std::string name = printable(span.name);
    output.append(fmt::format(
        "  {}{}  {:>6} so far  {}[{}]\n", name, std::string(width - display_width(name), ' '),
        (span.older ? ">" : "") + duration_text(span.age_ns), printable(span.comm), span.tid));
  }
  if (unfinished.size() > shown)
    output.append(fmt::format("  and {} more, all younger\n", grouped(unfinished.size() - shown)));
}

void write_text_table(Output& output, const TableFigures& table, std::uint64_t lost, bool color) {
  if (table.rows.empty()) {
    output.append(
        fmt::format("no {} seen\n", table.title.empty() ? "calls" : printable(table.title)));
  } else {
    std::vector<Line> lines;
    for (const RowFigures& row : table.rows)
      lines.push_back({cells_of(table, row, lost), row.errors > 0});
    write_lines(output, table, lines, color);
    write_legend(output, table, lost);
  }
  if (table.show_histograms) {
    for (const RowFigures& row : table.rows) {
      if (row.timed == 0) continue;
      output.append('\n');
      if (row.span) output.append(*row.span + " ");
      if (row.process) output.append(who(row.process->pid, row.process->comm) + " ");
      if (row.thread) output.append(who(row.thread->tid, row.thread->comm) + " ");
      for (const std::string& owner : owners_of(table.by, row)) output.append(owner + " ");
      for (const auto& key : {row.container, row.library, row.caller})
        if (key) output.append(printable(*key) + " ");
      output.append(fmt::format("{}, {}\n", printable(row.name),
                                counted(row.timed, row.span ? "span" : "call")));
      draw_histogram(output, row);
    }
  }
  write_text_unfinished(output, table.unfinished);
}

}  // namespace overdue
