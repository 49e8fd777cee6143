#include "report/offcpu/text.h"

#include <time.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t displaced_rows = 5;    // rows whose displacers are shown
constexpr std::size_t displacers_shown = 3;  // of each

std::string short_duration(std::uint64_t ns) {
  return ns == 0 ? "-" : duration_text(ns);
}

std::string name_of(const OffcpuRow& row, Whose by) {
  return owner_text(row, by, by == Whose::parent ? row.processes : row.threads);
}

/// Of a wait in progress, the length so far.
std::string longest_text(const OffcpuRow& row) {
  if (row.longest_ns() == 0) return "-";
  return duration_text(row.longest_ns()) + (row.open_ns > row.max_ns ? "+" : "");
}

std::string_view heading_of(Whose by) {
  constexpr std::string_view headings[] = {"THREAD", "PROCESS", "NAME",     "PATTERN",
                                           "GROUP",  "CGROUP",  "PROCESSES"};
  return headings[static_cast<std::size_t>(by)];
}

std::string displacer_text(const Displacer& displacer) {
  const std::string who = displacer.tid == 0
                              ? printable(displacer.comm)
                              : fmt::format("{}[{}]", printable(displacer.comm), displacer.tid);
  if (displacer.count == 1)
    return fmt::format("{} once, {}", who, duration_text(displacer.total_ns));
  return fmt::format("{} {} times, {} (longest {})", who, grouped(displacer.count),
                     duration_text(displacer.total_ns), duration_text(displacer.max_ns));
}

std::string displacers_of(const OffcpuRow& row, Whose by) {
  std::string text = fmt::format("  {}", name_of(row, by));
  const std::size_t shown = std::min(displacers_shown, row.displacers.size());
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("{} {}", i == 0 ? " by" : ";", displacer_text(row.displacers[i]));
  Displacer rest;
  for (std::size_t i = shown; i < row.displacers.size(); ++i) rest.add(row.displacers[i]);
  if (rest.count > 0)
    text += fmt::format("; {}, {}", counted(row.displacers.size() - shown, "other"),
                        duration_text(rest.total_ns));
  return text + '\n';
}

/// The displacers of the rows that were preempted for longest.
std::string displaced_text(const std::vector<OffcpuRow>& rows, Whose by) {
  std::vector<const OffcpuRow*> displaced;
  for (const OffcpuRow& row : rows)
    if (!row.displacers.empty()) displaced.push_back(&row);
  if (displaced.empty()) return {};
  std::ranges::sort(displaced, {}, [](const OffcpuRow* row) {
    return std::tuple(~row->preempted_ns, row->pid, row->tid, std::string_view(row->comm));
  });
  if (displaced.size() > displaced_rows) displaced.resize(displaced_rows);
  std::string text = "\ndisplaced\n";
  for (const OffcpuRow* row : displaced) text += displacers_of(*row, by);
  return text;
}

/// Local time as `2026-11-27 10:00:01.000123`.
std::string local_microseconds(WallTime time) {
  const WallSeconds split = split_seconds(time);
  const std::time_t seconds = split.seconds;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     split.nanoseconds / 1000);
}

/// The rows of text, and the numbers of threads and rows that are left out.
struct ShownRows {
  std::vector<const OffcpuRow*> rows;
  std::size_t omitted = 0;
  std::uint64_t asleep = 0;  ///< threads that slept throughout
};

ShownRows shown_rows(const std::vector<OffcpuRow>& rows, std::size_t top) {
  ShownRows shown;
  for (const OffcpuRow& row : rows) {
    if (row.is_asleep())
      shown.asleep += row.threads;
    else if (top == 0 || shown.rows.size() < top)
      shown.rows.push_back(&row);
    else
      ++shown.omitted;
  }
  return shown;
}

/// A row of a table, with what it is of.
struct NamedRow {
  std::string name;
  const OffcpuRow* row;
};

std::string table_text(std::string_view heading, const std::vector<NamedRow>& rows) {
  std::size_t width = heading.size();
  for (const NamedRow& one : rows) width = std::max(width, display_width(one.name));
  const auto padding = [width](std::string_view name) {
    return std::string(width - std::min(width, display_width(name)), ' ');
  };
  constexpr std::string_view line = "{}{} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9} {:>8}\n";
  std::string text =
      fmt::format(line, heading, padding(heading), "ON CPU", "OFF CPU", "SLEEPING", "UNINTR",
                  "RUN QUEUE", "PREEMPTED", "THROTTLED", "COUNT", "LONGEST");
  for (const auto& [name, row] : rows)
    text += fmt::format(line, name, padding(name), short_duration(row->oncpu_ns),
                        short_duration(row->offcpu_ns()), short_duration(row->sleeping_ns),
                        short_duration(row->uninterruptible_ns), short_duration(row->runqueue_ns),
                        short_duration(row->preempted_ns), short_duration(row->throttled_ns),
                        grouped(row->switches), longest_text(*row));
  return text;
}

}  // namespace

std::string offcpu_text(const std::vector<OffcpuRow>& rows, const OffcpuShow& show,
                        std::size_t width) {
  const ShownRows shown = shown_rows(rows, show.top);
  std::vector<NamedRow> named;
  for (const OffcpuRow* row : shown.rows) named.push_back({name_of(*row, show.by), row});
  std::string text =
      named.empty() ? "no thread of the target ran\n" : table_text(heading_of(show.by), named);
  if (shown.omitted > 0)
    text += fmt::format("{} more rows; --top 0 shows all\n", grouped(shown.omitted));
  if (shown.asleep > 0)
    text += fmt::format("asleep throughout: {}\n", counted(shown.asleep, "thread"));
  return text + folded_lines(displaced_text(rows, show.by), width);
}

std::string cpus_text(const std::vector<OffcpuCpu>& cpus, std::size_t top) {
  const std::size_t shown = top == 0 ? cpus.size() : std::min(top, cpus.size());
  std::vector<NamedRow> named;
  for (std::size_t i = 0; i < shown; ++i)
    named.push_back({std::to_string(cpus[i].cpu), &cpus[i].figures});
  std::string text =
      named.empty() ? "no thread of the target was measured\n" : table_text("CPU", named);
  if (shown < cpus.size())
    text += fmt::format("{} more rows; --top 0 shows all\n", grouped(cpus.size() - shown));
  return text;
}

std::string displacers_text(const std::vector<Displacer>& displacers, std::size_t top) {
  if (displacers.empty()) return "no thread of the target was displaced\n";
  const std::size_t shown = top == 0 ? displacers.size() : std::min(top, displacers.size());
  constexpr std::string_view line = "{:<24} {:>9} {:>9} {:>9} {:>9}\n";
  std::string text = fmt::format(line, "DISPLACED BY", "COUNT", "TOTAL", "AVG", "LONGEST");
  for (std::size_t i = 0; i < shown; ++i) {
    const Displacer& one = displacers[i];
    const std::string who =
        one.tid == 0 ? printable(one.comm) : fmt::format("{}[{}]", printable(one.comm), one.tid);
    text += fmt::format(line, who, grouped(one.count), duration_text(one.total_ns),
                        duration_text(one.count == 0 ? 0 : one.total_ns / one.count),
                        duration_text(one.max_ns));
  }
  if (shown < displacers.size())
    text += fmt::format("{} more rows; --top 0 shows all\n", grouped(displacers.size() - shown));
  return text;
}

std::string longest_lines(const std::vector<OffcpuRow>& rows, WallTime end) {
  std::vector<const OffcpuRow*> longest;
  for (const OffcpuRow& row : rows)
    if (row.max_ns >= 1000) longest.push_back(&row);
  std::ranges::sort(longest, {}, [](const OffcpuRow* row) {
    return std::tuple(~row->max_ns, row->pid, row->tid, std::string_view(row->comm));
  });
  std::string text;
  for (const OffcpuRow* row : longest)
    text += fmt::format("{} max offcpu for {} is {}us\n", local_microseconds(end),
                        printable(row->comm), row->max_ns / 1000);
  return text;
}

std::string socket_lines(const OffcpuNet& net, WallTime time) {
  std::string lines;
  for (const OffcpuSocket& socket : net.sockets)
    if (socket.receive.peak + socket.drops > 0)
      lines += fmt::format("{} max receive queue of {} is {} bytes ({}, {} dropped)\n",
                           local_microseconds(time), printable(socket.comm), socket.receive.peak,
                           printable(socket.text), socket.drops);
  return lines;
}

}  // namespace overdue
