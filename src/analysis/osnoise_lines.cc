#include "analysis/osnoise_lines.h"

#include "analysis/line_words.h"
#include "analysis/timerlat_lines.h"

namespace overdue {
namespace {

/// "start 51.589040281 duration 16523372 ns interference 9"
std::optional<OsnoiseEvent> parse_pause(LineWords words) {
  OsnoiseEvent event{.kind = OsnoiseEvent::Kind::pause};
  constexpr std::uint64_t longest_ns = 3'600'000'000'000;  // an hour; a runtime is at most a minute
  if (!words.take("start ") || !words.seconds(event.begin_ns, 9) || !words.take(" duration ") ||
      !words.number(event.pause_ns) || !words.take(" ns interference ") ||
      !words.number(event.interferences) || !words.rest().empty() || event.pause_ns > longest_ns)
    return std::nullopt;
  return event;
}

/// "52130      40229  22.82946   12662     21      0     10      0     10"
std::optional<OsnoiseEvent> parse_period(LineWords words) {
  OsnoiseEvent event{.kind = OsnoiseEvent::Kind::period};
  OsnoiseEvent::Period& period = event.period;
  constexpr std::uint64_t longest_us = 3'600'000'000;
  std::uint64_t percent_ns = 0;  // unused: follows from the two figures before
  const auto number = [&](auto& value) {
    const std::size_t size = words.rest().size();
    words.skip_spaces();
    return words.rest().size() < size && words.number(value);
  };
  if (!words.number(period.runtime_us) || !number(period.noise_us)) return std::nullopt;
  words.skip_spaces();
  if (!words.seconds(percent_ns, 5) || !number(period.max_us) || !number(period.hw) ||
      !number(period.nmi) || !number(period.irq) || !number(period.softirq) ||
      !number(period.thread) || !words.rest().empty())
    return std::nullopt;
  if (period.runtime_us > longest_us || period.noise_us > longest_us || period.max_us > longest_us)
    return std::nullopt;
  return event;
}

}  // namespace

std::optional<OsnoiseEvent> parse_osnoise_event(std::string_view text) {
  LineWords words(text);
  if (words.take("sample_threshold: ")) return parse_pause(words);
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') return parse_period(words);
  const auto known = parse_timerlat_event(text);  // both tracers print interferences alike
  if (!known) return std::nullopt;
  switch (known->kind) {
    case TimerlatEvent::Kind::noise:
      return OsnoiseEvent{.kind = OsnoiseEvent::Kind::noise, .noise = known->noise};
    case TimerlatEvent::Kind::mark:
      return OsnoiseEvent{.kind = OsnoiseEvent::Kind::mark, .id = known->id};
    case TimerlatEvent::Kind::stop:
      return OsnoiseEvent{.kind = OsnoiseEvent::Kind::stop};
    default:
      return std::nullopt;
  }
}

}  // namespace overdue
