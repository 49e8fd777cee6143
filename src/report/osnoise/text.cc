#include "report/osnoise/text.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "report/timerlat/text.h"
#include "sinks/text_format.h"
#include "target/cpu_list.h"

namespace overdue {
namespace {

constexpr std::size_t name_width = 27;

/// "local_timer:236", "NET_RX:3", "cc1:87882", "sh ×522 from cron[4126]"; why, if a part has no
/// name.
std::string name_of(const NoisePart& part, Whose by) {
  if (part.owner) return owner_text(*part.owner, by, part.processes);
  if (part.kind == ShareKind::hardware) return "or a hypervisor";
  if (!has_name(part.kind)) return {};
  if (part.threads > 0) return owner_text({.comm = part.name}, Whose::name, part.threads);
  if (part.name.empty() && part.number == 0) return "not reported";
  return fmt::format("{}:{}", printable(part.name), part.number);
}

/// A row of the table of parts.
struct NoiseLine {
  std::string_view kind;
  std::string name;
  std::uint64_t count = 0, ns = 0, max_ns = 0;  ///< 0: no such figure
};

/// The parts, at most `most` of a kind; the others; the residual.
std::vector<NoiseLine> lines_of(const std::vector<NoisePart>& parts, std::size_t most, Whose by,
                                std::uint64_t residual_ns) {
  std::vector<NoiseLine> lines;
  NoiseLine rest{"others", "", 0, 0, 0};
  std::map<ShareKind, std::size_t> shown;
  std::size_t left_out = 0;
  for (const NoisePart& part : parts) {
    if (shown[part.kind]++ < most) {
      lines.push_back(
          {noise_kind_name(part.kind), name_of(part, by), part.count, part.ns, part.max_ns});
      continue;
    }
    ++left_out;
    rest.count += part.count;
    rest.ns += part.ns;
    rest.max_ns = std::max(rest.max_ns, part.max_ns);
  }
  rest.name = fmt::format("{} more", left_out);
  if (left_out > 0) lines.push_back(std::move(rest));
  lines.push_back({"residual", "entry, exit, switches", 0, residual_ns, 0});
  return lines;
}

std::string noise_lines(const std::vector<NoisePart>& parts, std::size_t most, Whose by,
                        std::uint64_t residual_ns, std::uint64_t noise_ns) {
  const std::vector<NoiseLine> lines = lines_of(parts, most, by, residual_ns);
  std::size_t width = name_width;
  for (const NoiseLine& line : lines) width = std::max(width, display_width(line.name));
  std::string text = fmt::format("  {:<10}{:<{}} {:>10} {:>14} {:>12} {:>8}\n", "KIND", "NAME",
                                 width, "COUNT", "TOTAL us", "MAX us", "OF NOISE");
  for (const NoiseLine& line : lines)
    text += fmt::format("  {:<10}{}{} {:>10} {:>14} {:>12} {:>7}%\n", line.kind, line.name,
                        std::string(width - display_width(line.name), ' '),
                        line.count == 0 ? "" : grouped(line.count), microseconds(line.ns),
                        line.max_ns == 0 ? "" : microseconds(line.max_ns),
                        percent_of(line.ns, noise_ns));
  return text;
}

/// A line of --hist: a figure of each CPU.
template <typename Figure>
std::string figures_line(std::string_view name, std::span<const OsnoiseCpu> cpus, Figure figure) {
  std::string line = fmt::format("{:<8}", name);
  for (const OsnoiseCpu& cpu : cpus) line += fmt::format(" {:>9}", figure(cpu));
  return line + "\n";
}

}  // namespace

std::string osnoise_header(const SessionInfo& info, const OsnoisePlan& plan) {
  const std::string who = plan.priority > 0 ? fmt::format("SCHED_FIFO {}", plan.priority)
                                            : std::string("ordinary threads");
  return fmt::format(
      "overdue {} osnoise: CPUs {}, {} of each {}, {}, noise from {}\n{}, Linux {} {}, {}; {}, "
      "from {}\n\n",
      printable(info.version), format_cpu_list(plan.cpus), duration_text(plan.runtime_ns),
      duration_text(plan.period_ns), who, duration_text(plan.threshold_ns), printable(info.host),
      printable(info.kernel), printable(info.arch), counted(info.cpus, "CPU"),
      printable(info.backend), local_date_time(info.start_wall));
}

std::string osnoise_table(std::span<const OsnoiseCpu> cpus, const OsnoisePlan& plan,
                          Duration duration, TableWidth width) {
  const bool full = width == TableWidth::full;
  std::string text = fmt::format("{} | times in us\n", format_duration(duration));
  text += fmt::format("{:<4}{:>8} ", "CPU", "PERIODS");
  if (full) text += fmt::format("{:>12} ", "RUNTIME");
  text += fmt::format("{:>12} {:>10} {:>12} {:>12} {:>8}", "NOISE", "%CPU AVAIL", "MAX NOISE",
                      "MAX SINGLE", "HW");
  if (full) text += fmt::format(" {:>8} {:>8} {:>8} {:>8}", "NMI", "IRQ", "SOFTIRQ", "THREAD");
  text += '\n';
  for (const OsnoiseCpu& cpu : cpus) {
    text += fmt::format("{:<4}{:>8} ", cpu.cpu, cpu.samples);
    if (full) text += fmt::format("{:>12} ", cpu.runtime_ns / 1000);
    text += fmt::format("{:>12} {:>10} {:>12} {:>12} {:>8}", microseconds(cpu.noise_ns),
                        cpu.samples == 0 ? "-" : available_text(cpu.available()),
                        microseconds(cpu.max_noise_ns), microseconds(cpu.max_single_ns), cpu.hw);
    if (full)
      text += fmt::format(" {:>8} {:>8} {:>8} {:>8}", cpu.nmi, cpu.irq,
                          plan.counts_softirqs ? fmt::format("{}", cpu.softirq) : "-", cpu.thread);
    text += '\n';
  }
  return text;
}

std::string osnoise_parts(std::span<const OsnoiseCpu> cpus, std::size_t most, Whose by,
                          const Names& names) {
  NoiseTally all;
  std::uint64_t noise_ns = 0, residual_ns = 0;
  for (const OsnoiseCpu& cpu : cpus) {
    all.merge(cpu.tally);
    noise_ns += cpu.noise_ns;
    residual_ns += cpu.residual_ns();
  }
  if (noise_ns == 0) return {};
  return noise_lines(all.parts(by, names), most, by, residual_ns, noise_ns);
}

std::string osnoise_histogram(std::span<const OsnoiseCpu> cpus, const OsnoisePlan& plan) {
  std::string text =
      fmt::format("noise, counted by bucket of {}\n", duration_text(plan.bucket_ns)) +
      figures_line("from us", cpus,
                   [](const OsnoiseCpu& cpu) { return fmt::format("CPU-{:03}", cpu.cpu); });
  const auto count_in = [](std::size_t bucket) {
    return [bucket](const OsnoiseCpu& cpu) { return cpu.tally.histogram().count_in(bucket); };
  };
  std::set<std::size_t> buckets;
  for (const OsnoiseCpu& cpu : cpus)
    for (const auto& [bucket, count] : cpu.tally.histogram().counts()) buckets.insert(bucket);
  buckets.erase(plan.buckets);
  for (const std::size_t bucket : buckets)
    text += figures_line(fmt::format("{}", bucket * plan.bucket_ns / 1000), cpus, count_in(bucket));
  text += figures_line("over:", cpus, count_in(plan.buckets));
  text += figures_line("count:", cpus, [&](const OsnoiseCpu& cpu) {
    std::uint64_t sum = 0;
    for (const auto& [bucket, count] : cpu.tally.histogram().counts()) sum += count;
    return sum;
  });
  text += figures_line("max:", cpus,
                       [](const OsnoiseCpu& cpu) { return microseconds(cpu.max_single_ns); });
  return text;
}

std::string osnoise_stop(const OsnoiseStop& stop, Whose by) {
  std::string text =
      fmt::format("CPU {} stopped the run: {} of {}, and the limit is {}\n\n", stop.cpu,
                  stop.single ? "a single noise" : "the noise of one period",
                  duration_text(stop.noise_ns), duration_text(stop.limit_ns));
  text += noise_lines(stop.parts, stop.parts.size(), by, stop.residual_ns, stop.noise_ns);
  if (!stop.complete)
    text +=
        fmt::format("  more than {} pieces: the oldest are in the residual\n", OSNOISE_NOISES_MAX);
  return text;
}

// kernel/trace/trace_osnoise.c, print_osnoise_headers()
std::string OsnoiseTrace::header() {
  return R"(# tracer: osnoise
#
#                                _-----=> irqs-off
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth                            MAX
#                              || /                                             SINGLE     Interference counters:
#                              ||||               RUNTIME      NOISE   % OF CPU  NOISE    +-----------------------------+
#           TASK-PID      CPU# ||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD
#              | |         |   ||||      |           |             |    |            |      |      |      |      |      |
)";
}

void OsnoiseTrace::add(const osnoise_gap& gap, const TimerCause& cause) {
  const std::string_view comm = fixed_text(gap.header.comm);
  lines_.add_noises(cause.noises, gap.header.cpu, comm, gap.header.tid);
  lines_.add(
      gap.header.time_ns,
      trace_line_head(comm, gap.header.tid, gap.header.cpu, unknown_flags, gap.header.time_ns) +
          fmt::format("sample_threshold: start {}.{:09} duration {} ns interference {}\n",
                      gap.begin_ns / 1'000'000'000, gap.begin_ns % 1'000'000'000, gap.noise_ns,
                      gap.interferences));
}

void OsnoiseTrace::add(const osnoise_sample& sample) {
  OsnoiseCpu period;
  period.add(sample);
  const std::string available = available_text(period.available());
  lines_.add(sample.header.time_ns,
             trace_line_head(fixed_text(sample.header.comm), sample.header.tid, sample.header.cpu,
                             unknown_flags, sample.header.time_ns) +
                 fmt::format("{} {:>10} {:>9} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
                             sample.runtime_ns / 1000, sample.noise_ns / 1000, available,
                             sample.max_ns / 1000, sample.hw, sample.nmi, sample.irq,
                             sample.softirq, sample.thread));
}

}  // namespace overdue
