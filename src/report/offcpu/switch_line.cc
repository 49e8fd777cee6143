#include "report/offcpu/switch_line.h"

#include <charconv>

namespace overdue {
namespace {

constexpr std::string_view arrow = " ==> ";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

template <typename T>
bool read_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// `12.000345` as nanoseconds.
bool read_seconds(std::string_view text, std::uint64_t& ns) {
  const auto point = text.find('.');
  std::uint64_t seconds = 0, fraction = 0;
  if (point == text.npos || !read_number(text.substr(0, point), seconds)) return false;
  std::string_view digits = text.substr(point + 1);
  if (digits.size() > 9 || !read_number(digits, fraction)) return false;
  for (std::size_t i = digits.size(); i < 9; ++i) fraction *= 10;
  return seconds < UINT64_MAX / 2'000'000'000 && (ns = seconds * 1'000'000'000 + fraction, true);
}

/// The words before the name of the event: thread, CPU, flags, time.
struct Front {
  std::string comm;  ///< of the thread that was running; empty: not known
  std::uint64_t time_ns = 0;
  std::uint32_t cpu = 0;
};

/// The name in `java-33233 …` (ftrace) or `java 33233 …` (perf), which ends before `place`.
std::string front_name(std::string_view front) {
  const auto bracket = front.rfind('[');
  std::string_view thread = trimmed(front.substr(0, bracket));
  if (thread.ends_with(')'))  // the process, with the option record-tgid: "java-33233 (33200)"
    thread = trimmed(thread.substr(0, thread.rfind('(')));
  const auto end = thread.find_last_of("- ");
  if (end == thread.npos) return {};
  std::string_view name = trimmed(thread.substr(0, end));
  return name == "<...>" ? std::string() : std::string(name);
}

std::optional<Front> read_front(std::string_view text) {
  Front front;
  text = trimmed(text);
  if (!text.ends_with(':')) return {};
  text.remove_suffix(1);
  const auto space = text.find_last_of(" \t");
  if (space == text.npos || !read_seconds(text.substr(space + 1), front.time_ns)) return {};
  text = text.substr(0, space);
  const auto close = text.rfind(']');
  if (close == text.npos) return {};
  const auto open = text.rfind('[', close);
  if (open == text.npos || !read_number(text.substr(open + 1, close - open - 1), front.cpu))
    return {};
  front.comm = front_name(text.substr(0, close));
  return front;
}

/// The text between `begin`, which starts `text`, and the last `end`.
std::optional<std::string_view> between(std::string_view text, std::string_view begin,
                                        std::string_view end) {
  const auto at = text.rfind(end);
  if (!text.starts_with(begin) || at == text.npos || at < begin.size()) return {};
  return text.substr(begin.size(), at - begin.size());
}

/// The word behind the last `key`.
std::string_view word_after(std::string_view text, std::string_view key) {
  const auto at = text.rfind(key);
  if (at == text.npos) return {};
  text = text.substr(at + key.size());
  return text.substr(0, text.find(' '));
}

/// `prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120`.
bool read_named(std::string_view prev, std::string_view next, SwitchEvent& event) {
  const auto prev_comm = between(prev, "prev_comm=", " prev_pid=");
  const auto next_comm = between(next, "next_comm=", " next_pid=");
  if (!prev_comm || !next_comm) return false;
  event.prev_comm = *prev_comm;
  event.comm = *next_comm;
  event.prev_state = word_after(prev, " prev_state=");
  return read_number(word_after(prev, " prev_pid="), event.prev_tid) &&
         read_number(word_after(next, " next_pid="), event.tid);
}

/// `a:1 [120]`, of trace-cmd and perf. Returns what follows the bracket.
std::optional<std::string_view> read_pretty(std::string_view text, std::string& comm,
                                            std::uint32_t& tid) {
  const auto open = text.rfind(" [");
  const auto close = text.rfind(']');
  if (open == text.npos || close == text.npos || close < open) return {};
  const auto colon = text.rfind(':', open);
  if (colon == text.npos || !read_number(text.substr(colon + 1, open - colon - 1), tid)) return {};
  comm = text.substr(0, colon);
  return trimmed(text.substr(close + 1));
}

/// `1:120:S`; returns what follows the second colon.
std::optional<std::string_view> read_numbers(std::string_view text, std::uint32_t& tid) {
  const auto first = text.find(':');
  const auto second = text.find(':', first == text.npos ? first : first + 1);
  std::int32_t priority = 0;
  if (second == text.npos || !read_number(text.substr(0, first), tid) ||
      !read_number(text.substr(first + 1, second - first - 1), priority))
    return {};
  return trimmed(text.substr(second + 1));
}

bool read_switch(std::string_view text, SwitchEvent& event) {
  const auto at = text.rfind(arrow);
  if (at == text.npos) return false;
  const std::string_view prev = trimmed(text.substr(0, at));
  const std::string_view next = trimmed(text.substr(at + arrow.size()));
  if (prev.starts_with("prev_comm=")) return read_named(prev, next, event);
  if (const auto state = read_numbers(prev, event.prev_tid)) {
    event.prev_state = *state;
    const auto comm = read_numbers(next, event.tid);
    if (comm) event.comm = *comm;
    return comm.has_value();
  }
  const auto state = read_pretty(prev, event.prev_comm, event.prev_tid);
  if (!state || !read_pretty(next, event.comm, event.tid)) return false;
  event.prev_state = *state;
  return true;
}

bool read_wake(std::string_view text, SwitchEvent& event) {
  if (const auto comm = between(text, "comm=", " pid=")) {
    event.comm = *comm;
    return read_number(word_after(text, " pid="), event.tid);
  }
  return read_numbers(text, event.tid) || read_pretty(text, event.comm, event.tid);
}

/// `CPU:3 [LOST 52 EVENTS]`.
std::optional<SwitchEvent> read_lost(std::string_view line) {
  const auto at = line.find(" [LOST ");
  if (!line.starts_with("CPU:") || at == line.npos) return {};
  SwitchEvent event{.kind = SwitchEvent::Kind::lost};
  const std::string_view count = line.substr(at + 7, line.find(' ', at + 7) - at - 7);
  if (!read_number(line.substr(4, at - 4), event.cpu)) return {};
  if (!read_number(count, event.count)) event.count = 1;
  return event;
}

}  // namespace

std::optional<SwitchEvent> parse_switch_line(std::string_view line) {
  line = trimmed(line);
  if (auto lost = read_lost(line)) return lost;
  constexpr std::string_view names[] = {
      "sched_switch:", "sched_waking:", "sched_wakeup:", "sched_wakeup_new:"};
  for (const std::string_view name : names) {
    const auto at = line.find(name);
    if (at == line.npos || at == 0) continue;
    std::string_view front_text = trimmed(line.substr(0, at));
    if (front_text.ends_with(" sched:") || front_text.ends_with("\tsched:"))  // of perf
      front_text.remove_suffix(6);
    const auto front = read_front(front_text);
    if (!front) return {};
    SwitchEvent event{.time_ns = front->time_ns, .cpu = front->cpu};
    const std::string_view detail = trimmed(line.substr(at + name.size()));
    const bool is_switch = name == names[0];
    event.kind = is_switch ? SwitchEvent::Kind::switched : SwitchEvent::Kind::woken;
    if (!(is_switch ? read_switch(detail, event) : read_wake(detail, event))) return {};
    if (is_switch && event.prev_comm.empty()) event.prev_comm = front->comm;
    return event;
  }
  return {};
}

}  // namespace overdue
