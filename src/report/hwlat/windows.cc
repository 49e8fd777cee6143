#include "report/hwlat/windows.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"
#include "report/trace_lines.h"

namespace overdue {
namespace {

/// The number after `name` in a line; nothing if there is none.
std::optional<std::uint64_t> number_after(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == line.npos) return std::nullopt;
  line.remove_prefix(at + name.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// "678.473449" or "1581527483.343962693" in nanoseconds.
std::uint64_t seconds_text(std::string_view text) {
  std::uint64_t whole = 0, ns = 0;
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view seconds = text.substr(0, dot);
  std::from_chars(seconds.data(), seconds.data() + seconds.size(), whole);
  std::size_t digits = 0;
  for (; dot + 1 + digits < text.size() && digits < 9; ++digits) {
    const char c = text[dot + 1 + digits];
    if (c < '0' || c > '9') break;
    ns = ns * 10 + static_cast<std::uint64_t>(c - '0');
  }
  for (; digits < 9; ++digits) ns *= 10;
  return whole * 1'000'000'000 + ns;
}

}  // namespace

void HwlatWindows::add(const osnoise_gap& gap, const TimerCause& cause, const SessionInfo& info) {
  HwlatSample& window = open_[gap.header.cpu];
  std::uint64_t ns = cause.parts.unexplained_ns;
  bool has_thread = gap.flags & OSNOISE_UNSEEN;
  for (const CauseNoise& each : cause.noises) {
    has_thread = has_thread || each.noise.kind == NOISE_THREAD;
    if (each.noise.kind != NOISE_NMI) continue;
    ns += each.net_ns;
    window.nmi_total_ns += each.net_ns;
  }
  if (has_thread || ns < threshold_ns_) {
    ++explained_;
    return;
  }
  if (window.count++ == 0) window.first = info.wall(KernelTime(Duration(gap.begin_ns)));
  std::uint64_t& longest_ns = gap.flags & OSNOISE_INNER ? window.inner_ns : window.outer_ns;
  longest_ns = std::max(longest_ns, ns);
}

std::optional<HwlatSample> HwlatWindows::end(const osnoise_sample& sample) {
  HwlatSample window = std::exchange(open_[sample.header.cpu], {});
  if (window.count == 0) return std::nullopt;
  window.number = ++found_;
  window.cpu = sample.header.cpu;
  window.tid = sample.header.tid;
  window.comm = fixed_text(sample.header.comm);
  window.flags = unknown_flags;
  window.time_ns = sample.header.time_ns;
  window.inner_ns = std::max<std::uint64_t>(window.inner_ns, sample.inner_ns);
  window.outer_ns = std::max<std::uint64_t>(window.outer_ns, sample.outer_ns);
  window.nmi_count = sample.nmi;
  return window;
}

std::string hwlat_header() {
  return R"(# tracer: hwlat
#
#                              _-----=> irqs-off
#                             / _----=> need-resched
#                            | / _---=> hardirq/softirq
#                            || / _--=> preempt-depth
#                            ||| /     delay
#           TASK-PID   CPU#  ||||    TIMESTAMP  FUNCTION
#              | |       |   ||||       |         |
)";
}

// kernel/trace/trace_output.c, trace_hwlat_print()
std::string hwlat_line(const HwlatSample& sample) {
  const WallSeconds first = split_seconds(sample.first);
  std::string line =
      trace_line_head(sample.comm, sample.tid, sample.cpu, sample.flags, sample.time_ns) +
      fmt::format("#{:<5} inner/outer(us): {:>4}/{:<5} ts:{}.{:09} count:{}", sample.number,
                  sample.inner_ns / 1000, sample.outer_ns / 1000, first.seconds, first.nanoseconds,
                  sample.count);
  if (sample.nmi_count > 0)
    line += fmt::format(" nmi-total:{} nmi-count:{}", sample.nmi_total_ns / 1000, sample.nmi_count);
  return line + "\n";
}

std::optional<HwlatSample> parse_hwlat_line(std::string_view line) {
  const std::size_t cpu = line.find(" [");
  const std::size_t dash = line.substr(0, std::min(cpu, line.size())).rfind('-');
  const std::size_t outer = line.find('/', std::min(line.find("(us):"), line.size()));
  const std::size_t wall = line.find(" ts:");
  const auto number = number_after(line, ": #"), inner = number_after(line, "inner/outer(us):");
  const auto count = number_after(line, " count:");
  if (cpu == line.npos || dash == line.npos || outer == line.npos || wall == line.npos || !number ||
      !inner || !count)
    return std::nullopt;
  const std::string_view behind_cpu = line.substr(std::min(line.find(']', cpu) + 1, line.size()));
  const auto words = split(behind_cpu.substr(0, behind_cpu.find(": #")), ' ');
  if (words.size() < 2) return std::nullopt;
  HwlatSample sample;
  sample.number = *number;
  const std::string_view comm = line.substr(0, dash);
  sample.comm = comm.substr(std::min(comm.find_first_not_of(' '), comm.size()));
  sample.tid = static_cast<std::uint32_t>(number_after(line.substr(dash), "-").value_or(0));
  sample.cpu = static_cast<std::uint32_t>(number_after(line, " [").value_or(0));
  sample.flags = words[0];
  sample.time_ns = seconds_text(words[1]);
  sample.inner_ns = *inner * 1000;
  sample.outer_ns = number_after(line.substr(outer), "/").value_or(0) * 1000;
  sample.first = WallTime(
      std::chrono::nanoseconds(static_cast<std::int64_t>(seconds_text(line.substr(wall + 4)))));
  sample.count = *count;
  sample.nmi_total_ns = number_after(line, "nmi-total:").value_or(0) * 1000;
  sample.nmi_count = number_after(line, "nmi-count:").value_or(0);
  return sample;
}

void describe(Members& member, const HwlatSample& sample) {
  member.type("hwlat_window", "A window with latencies that software does not explain");
  member("number", sample.number, {.help = "number of the window, from 1"});
  member("cpu", sample.cpu);
  member("time_ns", sample.time_ns, {.help = "end of the window"});
  member("inner_ns", sample.inner_ns,
         {.help = "longest time between the two clock reads of a pair"});
  member("outer_ns", sample.outer_ns, {.help = "longest time from one pair to the next"});
  member("first", format_rfc3339(sample.first), {.help = "begin of the first latency"});
  member("count", sample.count, {.help = "latencies that reach the threshold"});
  member("nmi_total_ns", sample.nmi_total_ns);
  member("nmi_count", sample.nmi_count);
}

}  // namespace overdue
