#include "analysis/osnoise_assembler.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace overdue {
namespace {

constexpr s16 ordinary_priority = 120;
/// Lines have times in microseconds.
constexpr std::uint64_t line_rounding_ns = 1000;

/// The lower, the further inside. Device and local interrupts do not interrupt each other.
u32 depth_within(u32 kind) {
  return kind == NOISE_VECTOR ? u32{NOISE_IRQ} : kind;
}

}  // namespace

OsnoiseAssembler::OsnoiseAssembler(const Schema& pause, const Schema& period,
                                   const Options& options, RecordHandler handler)
    : pause_(pause), period_(period), options_(options), handler_(std::move(handler)) {
  for (const std::uint32_t cpu : options_.cpus) cpus_[cpu].skipping = options_.skip_first;
}

void OsnoiseAssembler::line(std::string_view text) {
  if (text.empty() || text.starts_with('#')) return;
  if (const auto lost = parse_lost_events(text)) {
    counts_.lost += lost->events;
    if (const auto found = cpus_.find(lost->cpu); found != cpus_.end())
      found->second.noises.clear();
    return;
  }
  const auto parsed = parse_trace_line(text);
  const auto event = parsed ? parse_osnoise_event(parsed->text) : std::nullopt;
  if (!event) {
    ++counts_.unread;
    return;
  }
  using Kind = OsnoiseEvent::Kind;
  if (event->kind == Kind::mark) marked(event->id, parsed->time_ns);
  const auto found = cpus_.find(parsed->cpu);
  if (found == cpus_.end()) return;
  Cpu& cpu = found->second;
  if (event->kind == Kind::noise)
    add_noise(cpu, *parsed, event->noise);
  else if (event->kind == Kind::pause)
    end_pause(cpu, *parsed, *event);
  else if (event->kind == Kind::period)
    end_period(cpu, *parsed, event->period);
}

/// The kernel subtracts nested interferences from the duration, and prints them earlier.
void OsnoiseAssembler::add_noise(Cpu& cpu, const TraceLine& line, const timerlat_noise& noise) {
  Noise added{.gross = noise, .net_ns = noise.end_ns - noise.begin_ns};
  std::uint64_t end_ns = noise.end_ns;
  for (const Noise& inner : cpu.noises)
    if (depth_within(inner.gross.kind) < depth_within(noise.kind) &&
        inner.gross.begin_ns >= noise.begin_ns)
      end_ns += inner.net_ns;
  end_ns = std::min<std::uint64_t>(end_ns, line.time_ns + line_rounding_ns);
  added.gross.end_ns = std::max<std::uint64_t>(noise.begin_ns, end_ns);
  if (noise.kind == NOISE_THREAD) added.gross.detail = ordinary_priority;
  cpu.noises.push_back(added);
  if (cpu.noises.size() > OSNOISE_NOISES_MAX) cpu.noises.pop_front();
}

event_header OsnoiseAssembler::header(const TraceLine& line, std::uint16_t kind, std::size_t size,
                                      std::uint64_t time_ns) const {
  event_header header{};
  header.time_ns = time_ns;
  header.pid = header.tid = line.tid;
  header.kind = kind;
  header.size = static_cast<u16>(size);
  header.cpu = line.cpu;
  fmt::format_to_n(header.comm, COMM_SIZE - 1, "osnoise/{}", line.cpu);
  return header;
}

void OsnoiseAssembler::end_pause(Cpu& cpu, const TraceLine& line, const OsnoiseEvent& event) {
  struct {
    osnoise_gap gap;
    timerlat_noise noises[OSNOISE_NOISES_MAX];
  } record{};
  osnoise_gap& gap = record.gap;
  // Earlier interferences belong to noises below the threshold.
  for (const Noise& each : cpu.noises) {
    if (each.gross.begin_ns < event.begin_ns ||
        each.gross.begin_ns >= event.begin_ns + event.pause_ns)
      continue;
    timerlat_noise& noise = record.noises[gap.noises++] = each.gross;
    noise.begin_ns = monotonic(noise.begin_ns);
    noise.end_ns = monotonic(noise.end_ns);
  }
  // The kernel prints the line shortly after the noise's end. An interference in between is in
  // `noises` already, but belongs to the next noise.
  const auto is_over = [&](const Noise& each) {
    return each.gross.begin_ns < event.begin_ns + event.pause_ns;
  };
  std::erase_if(cpu.noises, is_over);
  if (cpu.skipping) return;
  std::sort(
      record.noises, record.noises + gap.noises,
      [](const timerlat_noise& a, const timerlat_noise& b) { return a.begin_ns < b.begin_ns; });
  gap.begin_ns = monotonic(event.begin_ns);
  gap.noise_ns = event.pause_ns;
  gap.interferences = event.interferences;
  if (gap.noises < gap.interferences) {
    gap.flags |= OSNOISE_CUT;
    counts_.unmatched += gap.interferences - gap.noises;
  }
  cpu.sum_ns += event.pause_ns;
  cpu.max_ns = std::max(cpu.max_ns, event.pause_ns);
  if (options_.stop_single_us > 0 && event.pause_ns > options_.stop_single_us * 1000 &&
      !stopped()) {
    gap.flags |= OSNOISE_STOPPED;
    set_stopped();
  }
  const std::size_t size = sizeof gap + gap.noises * sizeof(timerlat_noise);
  gap.header = header(line, RECORD_OSNOISE_GAP, size, gap.begin_ns + gap.noise_ns);
  handler_({&pause_, std::as_bytes(std::span(&record, 1)).first(size)});
}

void OsnoiseAssembler::end_period(Cpu& cpu, const TraceLine& line,
                                  const OsnoiseEvent::Period& period) {
  osnoise_sample sample{};
  const auto exact = [](std::uint64_t known_ns, std::uint64_t reported_us) {
    return known_ns / 1000 == reported_us ? known_ns : reported_us * 1000;
  };
  sample.runtime_ns = period.runtime_us * 1000;
  sample.noise_ns = exact(cpu.sum_ns, period.noise_us);
  sample.max_ns = exact(cpu.max_ns, period.max_us);
  sample.hw = period.hw;
  sample.nmi = period.nmi;
  sample.irq = period.irq;
  sample.softirq = period.softirq;
  sample.thread = period.thread;
  cpu.sum_ns = cpu.max_ns = 0;
  cpu.noises.clear();
  if (cpu.skipping) {
    cpu.skipping = false;
    return;
  }
  if (options_.stop_total_us > 0 && period.noise_us > options_.stop_total_us && !stopped()) {
    sample.flags |= OSNOISE_STOPPED;
    set_stopped();
  }
  sample.header = header(line, RECORD_OSNOISE_SAMPLE, sizeof sample, monotonic(line.time_ns));
  handler_({&period_, std::as_bytes(std::span(&sample, 1))});
}

}  // namespace overdue
