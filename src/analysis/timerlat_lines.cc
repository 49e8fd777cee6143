#include "analysis/timerlat_lines.h"

#include <algorithm>

#include "analysis/line_words.h"
#include "core/interrupt_names.h"

namespace overdue {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool are_flags(std::string_view word) {
  return word.size() >= 4 && word.size() <= 8 && std::all_of(word.begin(), word.end(), [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                  c == '#';
         });
}

/// Reads the text after a thread's name and its '-'.
bool parse_behind_name(std::string_view text, TraceLine& line) {
  LineWords words(text);
  if (!words.number(line.tid) || !words.take(" ")) return false;
  words.skip_spaces();
  if (!words.take("[") || !words.number(line.cpu) || !words.take("] ")) return false;
  line.flags = words.word();
  if (!are_flags(line.flags)) return false;
  words.skip_spaces();
  if (!words.seconds(line.time_ns, 6) || !words.take(": ")) return false;
  line.text = words.rest();
  return true;
}

std::optional<TimerlatEvent> parse_latency(LineWords words) {
  TimerlatEvent event;
  if (!words.number(event.id)) return std::nullopt;
  words.skip_spaces();
  if (!words.take("context")) return std::nullopt;
  words.skip_spaces();
  const std::string_view context = words.word();
  words.skip_spaces();
  if (!words.take("timer_latency")) return std::nullopt;
  words.skip_spaces();
  if (!words.number(event.latency_ns) || !words.take(" ns")) return std::nullopt;
  if (context == "irq")
    event.kind = TimerlatEvent::Kind::irq;
  else if (context == "thread")
    event.kind = TimerlatEvent::Kind::thread;
  else if (context == "user-ret")
    event.kind = TimerlatEvent::Kind::user;
  else
    return std::nullopt;
  return event;
}

/// Reads "start 548.771077442 duration 7597 ns", the end of every noise event.
bool parse_span(std::string_view text, timerlat_noise& noise) {
  LineWords words(text);
  std::int64_t duration_ns = 0;  // kernels have printed negative durations
  if (!words.take("start ") || !words.seconds(noise.begin_ns, 9) || !words.take(" duration ") ||
      !words.number(duration_ns))
    return false;
  noise.end_ns =
      noise.begin_ns + static_cast<std::uint64_t>(std::max<std::int64_t>(duration_ns, 0));
  return true;
}

/// Reads "NAME:NUMBER start …". A name may contain any text.
std::optional<TimerlatEvent> parse_noise(u16 kind, std::string_view text) {
  TimerlatEvent event{.kind = TimerlatEvent::Kind::noise};
  timerlat_noise& noise = event.noise;
  noise.kind = kind;
  const std::size_t start = text.rfind("start ");
  if (start == text.npos || !parse_span(text.substr(start), noise)) return std::nullopt;
  if (kind == NOISE_NMI) return event;
  const std::size_t colon = text.substr(0, start).rfind(':');
  if (colon == text.npos || !LineWords(text.substr(colon + 1)).number(noise.number))
    return std::nullopt;
  std::string_view name = text.substr(0, colon);
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  if (const cpu_vector vector = vector_named(name); kind == NOISE_IRQ && vector != VECTOR_NONE) {
    noise.kind = NOISE_VECTOR;
    noise.detail = static_cast<s16>(vector);
  }
  name.copy(noise.name, sizeof noise.name - 1);
  return event;
}

}  // namespace

// A name has at most 15 bytes and the text after the name is longer, so a name cannot contain that
// text: the first match is the right one.
std::optional<TraceLine> parse_trace_line(std::string_view line) {
  constexpr std::size_t longest_head = 64;
  for (std::size_t at = line.find('-'); at < std::min(line.size(), longest_head);
       at = line.find('-', at + 1)) {
    TraceLine parsed;
    if (!parse_behind_name(line.substr(at + 1), parsed)) continue;
    parsed.comm = line.substr(0, at);
    parsed.comm.remove_prefix(std::min(parsed.comm.find_first_not_of(' '), parsed.comm.size()));
    return parsed;
  }
  return std::nullopt;
}

std::optional<TimerlatEvent> parse_timerlat_event(std::string_view text) {
  LineWords words(text);
  if (words.take("#")) return parse_latency(words);
  if (words.take("irq_noise: ")) return parse_noise(NOISE_IRQ, words.rest());
  if (words.take("softirq_noise: ")) return parse_noise(NOISE_SOFTIRQ, words.rest());
  if (words.take("thread_noise: ")) return parse_noise(NOISE_THREAD, words.rest());
  if (words.take("nmi_noise: ")) return parse_noise(NOISE_NMI, words.rest());
  if (words.take("<stack trace>")) return TimerlatEvent{.kind = TimerlatEvent::Kind::stack};
  // The text follows the name of the function that prints it.
  const std::size_t colon = text.find(": ");
  if (colon == text.npos) return std::nullopt;
  words = LineWords(text.substr(colon + 2));
  if (words.take("stop tracing hit on cpu "))
    return TimerlatEvent{.kind = TimerlatEvent::Kind::stop};
  TimerlatEvent mark{.kind = TimerlatEvent::Kind::mark};
  if (words.take(mark_text) && words.number(mark.id)) return mark;
  return std::nullopt;
}

std::optional<LostEvents> parse_lost_events(std::string_view line) {
  LineWords words(line);
  LostEvents lost{.cpu = 0, .events = 1};
  if (!words.take("CPU:") || !words.number(lost.cpu) || !words.take(" [LOST ")) return std::nullopt;
  if (words.number(lost.events) && !words.take(" ")) return std::nullopt;
  if (!words.take("EVENTS]")) return std::nullopt;
  return lost;
}

std::optional<StackLine> parse_stack_line(std::string_view line) {
  LineWords words(line);
  words.skip_spaces();
  if (!words.take("=> ")) return std::nullopt;
  StackLine frame;
  frame.function = words.word();
  const std::size_t address = words.rest().rfind('<');
  if (address != std::string_view::npos) {
    LineWords behind(words.rest().substr(address + 1));
    if (!behind.number(frame.address, 16) || !behind.take(">")) frame.address = 0;
  }
  return frame;
}

std::uint32_t preempt_count_of(std::string_view flags) {
  // irqs-off, need-resched, need-resched-lazy (older PREEMPT_RT only), hardirq/softirq, depth, …
  if (flags.size() < 4) return 0;
  const std::size_t context = flags.size() >= 7 ? 3 : 2;
  std::uint32_t count = 0;
  switch (flags[context]) {
    case 'Z':
      count |= 0x110000;
      break;
    case 'z':
      count |= 0x100000;
      break;
    case 'H':
      count |= 0x10100;
      break;
    case 'h':
      count |= 0x10000;
      break;
    case 's':
      count |= 0x100;
      break;
    default:
      break;
  }
  std::uint32_t depth = 0;
  if (LineWords(flags.substr(context + 1, 1)).number(depth, 16)) count |= depth;
  if (flags[1] == '.') count |= 0x80000000;
  return count;
}

}  // namespace overdue
