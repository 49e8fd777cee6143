#include "sinks/text_format.h"

#include <time.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t longest_target = 160;

std::tm local(WallTime time) {
  const std::time_t seconds = split_seconds(time).seconds;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

/// One argument of a command line, quoted if its end would be unclear.
std::string quoted_word(std::string_view argument) {
  const std::string safe = printable(argument);
  const bool plain = !safe.empty() && safe.find_first_of(" '\"") == std::string::npos;
  return plain ? safe : fmt::format("'{}'", safe);
}

std::string joined(const std::vector<std::string>& values, std::string_view separator) {
  std::string text;
  for (const std::string& value : values) {
    if (text.size() > longest_target) return text + std::string(separator) + "...";
    if (!text.empty()) text += separator;
    // One argument may have 128 KiB. The cut must not be inside a character or an escape.
    text += value.size() > longest_target ? quoted_word(value.substr(0, longest_target)) + "..."
                                          : quoted_word(value);
  }
  return text;
}

std::string loss_text(const Receipt& receipt) {
  if (receipt.lost() == 0) return "0 lost";
  std::string reasons;
  for (const auto& [reason, count] : receipt.lost_by)
    if (count > 0)
      reasons +=
          fmt::format("{}{} {}", reasons.empty() ? "" : ", ", printable(reason), grouped(count));
  return fmt::format("{} LOST ({})", grouped(receipt.lost()), reasons);
}

std::string cost_text(const Receipt& receipt) {
  if (!receipt.probe_ns || receipt.probe_runs == 0) return "measuring cost: too small to measure";
  // Not per receipt.events: a report of a recording may show only a part of the measured events.
  const std::uint64_t cost_ns = *receipt.probe_ns;
  std::string text = fmt::format("measuring cost {}", duration_text(cost_ns));
  const std::uint64_t error_ns = receipt.probe_error_ns.value_or(0);
  if (error_ns > 0) text += fmt::format(" (give or take {})", duration_text(error_ns));
  text += fmt::format(" in {} of BPF programs, {} each", counted(receipt.probe_runs, "run"),
                      duration_text(cost_ns / receipt.probe_runs));
  if (const auto ratio = receipt.overhead_ratio())
    text += fmt::format("; {:.1f}% of the target's CPU time", *ratio * 100);
  return text;
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

/// Empty if nothing is known.
std::string own_use_text(const OwnUse& own) {
  std::vector<std::string> used;
  if (own.cpu_ns) used.push_back(duration_text(*own.cpu_ns) + " of CPU time");
  if (own.memory_bytes) used.push_back(mebibytes(*own.memory_bytes) + " of memory");
  if (own.bpf_bytes) used.push_back(mebibytes(*own.bpf_bytes) + " of the kernel's");
  if (used.empty()) return {};
  return fmt::format("Overdue itself used {}", fmt::join(used, ", "));
}

/// Width without the sequences that change colors.
std::size_t visible_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find('\x1b'), text.size());
    width += display_width(text.substr(0, escape));
    text.remove_prefix(escape);
    text.remove_prefix(std::min(std::min(text.find('m'), text.size()) + 1, text.size()));
  }
  return width;
}

void append_folded(std::string& result, std::string_view line, std::size_t width) {
  constexpr std::size_t hanging = 4;
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t indent = std::min(begin + hanging, width / 2);
  result.append(begin, ' ');
  line.remove_prefix(begin);
  std::size_t column = begin;
  bool has_word = false;  // on this line of the screen
  while (!line.empty()) {
    const std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', spaces), line.size());
    const std::string_view word = line.substr(spaces, end - spaces);
    const std::size_t word_width = visible_width(word);
    if (has_word && column + spaces + word_width > width) {
      result.append("\n").append(indent, ' ');
      column = indent;
    } else {
      result.append(spaces, ' ');
      column += spaces;
    }
    result += word;
    column += word_width;
    has_word = true;
    line.remove_prefix(end);
  }
}

std::string unresolved_text(std::uint64_t frames, std::uint64_t unresolved) {
  if (unresolved == 0) return "all resolved";
  return fmt::format("{} unresolved ({}%)", grouped(unresolved), percent_of(unresolved, frames));
}

std::string frames_text(const FrameCounts& frames) {
  std::vector<std::string> said;
  if (frames.user > 0)
    said.push_back(fmt::format("user {}, {}", grouped(frames.user),
                               unresolved_text(frames.user, frames.user_unresolved)));
  if (frames.kernel > 0)
    said.push_back(fmt::format("kernel {}, {}", grouped(frames.kernel),
                               unresolved_text(frames.kernel, frames.kernel_unresolved)));
  return fmt::format("stack frames: {}", fmt::join(said, "; "));
}

}  // namespace

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string duration_text(std::uint64_t ns) {
  return format_duration(Duration(ns));
}

std::string percent_of(std::uint64_t total, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f}", 100.0 * static_cast<double>(total) / static_cast<double>(whole));
}

std::string target_text(const TargetInfo& target) {
  std::string text;
  if (target.kind == "command")
    text = joined(target.values, " ");
  else if (target.kind == "all")
    text = "all processes";
  else
    text = fmt::format("{} {}", printable(target.kind), joined(target.values, ", "));
  if (!target.cpus.empty()) text += fmt::format(" on CPUs {}", printable(target.cpus));
  if (!target.follows_children && target.kind != "all") text += ", children not followed";
  return text;
}

std::string local_date_time(WallTime time) {
  const std::tm parts = local(time);
  const long offset_minutes = parts.tm_gmtoff / 60;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} {}{:02}{:02}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     offset_minutes < 0 ? '-' : '+', std::abs(offset_minutes) / 60,
                     std::abs(offset_minutes) % 60);
}

std::string local_time_of_day(WallTime time) {
  const std::tm parts = local(time);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", parts.tm_hour, parts.tm_min, parts.tm_sec,
                     split_seconds(time).nanoseconds / 1'000'000);
}

std::string folded_lines(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    append_folded(result, text.substr(0, end), width);
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string session_header(const SessionInfo& info, bool with_duration) {
  if (info.host.empty())  // the recording of another tool
    return fmt::format("overdue {} {}: {}\n{}from {}\n\n", printable(info.version),
                       printable(info.command), target_text(info.target),
                       with_duration ? format_duration(info.duration) + " " : "",
                       local_date_time(info.start_wall));
  // The usual backend is not printed.
  const std::string backend = info.backend == "tp_btf" ? "" : printable(info.backend) + ", ";
  return fmt::format(
      "overdue {} {}: {}\n{}, Linux {} {}, {}; {}{}from {}\n\n", printable(info.version),
      printable(info.command), target_text(info.target), printable(info.host),
      printable(info.kernel), printable(info.arch), counted(info.cpus, "CPU"), backend,
      with_duration ? format_duration(info.duration) + " " : "", local_date_time(info.start_wall));
}

std::vector<std::string> receipt_lines(const SessionInfo& info, const Receipt& receipt) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}, {}, {} unmatched, {} cut by the start or end of the session",
                              counted(receipt.events, "event"), loss_text(receipt),
                              grouped(receipt.unmatched), grouped(receipt.cut)));
  if (receipt.refused > 0)
    lines.back() += fmt::format(", {} refused by seccomp or a tracer", grouped(receipt.refused));
  lines.push_back(cost_text(receipt));
  if (std::string own = own_use_text(receipt.own); !own.empty()) lines.push_back(std::move(own));
  if (receipt.frames && receipt.frames->user + receipt.frames->kernel > 0)
    lines.push_back(frames_text(*receipt.frames));
  for (const std::string& note : info.notes) lines.push_back("note: " + printable(note));
  return lines;
}

}  // namespace overdue
