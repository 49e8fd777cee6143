#include "sinks/latency_format.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "core/interrupt_names.h"

namespace overdue {
namespace {

/// One line, and the stack below the line.
struct Entry {
  const WindowEvent* at;
  std::string text;
  const Stack* stack = nullptr;
};

std::string short_name(const ThreadName& thread) {
  return thread.tid == 0 ? "<idle>" : printable(thread.comm);
}

std::string function_pair(const Stack& stack) {
  return fmt::format("{} <-{}", to_text(stack[0]), to_text(stack[1]));
}

/// The thread that is runnable, or runs next, in the format of trace_ctxwake_print().
std::string context_text(const WindowEvent& event, std::string_view arrow, std::uint32_t cpu) {
  return fmt::format(" {:5}:{:3}:{} {} [{:03}] {:5}:{:3}:{} {}", event.thread.tid, event.prio,
                     task_state_letter(event.state), arrow, cpu, event.other.tid, event.other_prio,
                     'R', event.other.tid ? printable(event.other.comm) : "<idle>");
}

std::string_view softirq_name(std::uint32_t number) {
  const std::string_view name = name_in(softirq_names, number);
  return name.empty() ? "?" : name;
}

std::string_view vector_name(std::uint32_t vector) {
  const std::string_view name = name_in(vector_names, vector);
  return name.empty() ? "vector" : name;
}

std::string event_text(const WindowEvent& event) {
  const std::string_view name = window_event_name(event.kind);
  const std::string other = printable(event.other.comm);
  switch (event.kind) {
    case WORST_EVENT_SWITCH:
      return context_text(event, "==>", event.cpu);
    case WORST_EVENT_WAKEUP:
    case WORST_EVENT_WAKEUP_NEW:
      return context_text(event, "  +", event.number);
    case WORST_EVENT_WAKING:
      return fmt::format("{}: comm={} pid={} prio={} target_cpu={:03}", name, other,
                         event.other.tid, event.other_prio, event.number);
    case WORST_EVENT_MIGRATE:
      return fmt::format("{}: comm={} pid={} prio={} orig_cpu={} dest_cpu={}", name, other,
                         event.other.tid, event.other_prio, event.state, event.number);
    case WORST_EVENT_IRQ_ENTRY:
      return fmt::format("{}: irq={} name={}", name, event.number, printable(event.name));
    case WORST_EVENT_IRQ_EXIT:
      return fmt::format("{}: irq={} ret={}", name, event.number,
                         event.state ? "handled" : "unhandled");
    case WORST_EVENT_VECTOR_ENTRY:
      return fmt::format("{}_entry: vector={}", vector_name(event.state), event.number);
    case WORST_EVENT_VECTOR_EXIT:
      return fmt::format("{}_exit: vector={}", vector_name(event.state), event.number);
    case WORST_EVENT_SOFTIRQ_ENTRY:
    case WORST_EVENT_SOFTIRQ_EXIT:
      return fmt::format("{}: vec={} [action={}]", name, event.number, softirq_name(event.number));
  }
  return std::string(name);
}

bool begins_it(const LatencyWindow& window, const WindowEvent& event) {
  return event.time_ns == window.begin_ns && event.other.tid == window.thread.tid &&
         (event.kind == WORST_EVENT_WAKING || event.kind == WORST_EVENT_WAKEUP_NEW);
}

bool ends_it(const LatencyWindow& window, const WindowEvent& event) {
  return event.kind == WORST_EVENT_SWITCH && event.other.tid == window.thread.tid &&
         &event == &window.events.back();
}

/// Begin and end of a lower bound. Besides these times, only the CPU's stack at the end is known,
/// and at best also the stack at the begin.
struct Bounds {
  WindowEvent begin, end;

  explicit Bounds(const LatencyWindow& window) {
    begin.time_ns = window.begin_ns;
    begin.cpu = window.cpu;
    begin.thread = window.thread;
    begin.prio = window.prio;
    begin.flags = "XXXX";
    end = begin;
    end.time_ns += window.latency_ns;
  }
};

void add_bound(const WindowEvent& at, const Stack& stack, std::vector<Entry>& entries) {
  if (stack.empty()) return;
  entries.push_back({&at, stack.size() > 1 ? function_pair(stack) : to_text(stack.front())});
  entries.push_back({&at, "<stack trace>", &stack});
}

std::vector<Entry> entries_of(const LatencyWindow& window, const Bounds& bounds) {
  std::vector<Entry> entries;
  if (!window.lower_bound.empty()) {
    add_bound(bounds.begin, window.waking_stack, entries);
    add_bound(bounds.end, window.end_stack, entries);
    return entries;
  }
  for (const WindowEvent& event : window.events) {
    const bool begins = begins_it(window, event);
    const bool ends = ends_it(window, event);
    const Stack& stack = begins ? window.waking_stack : window.end_stack;
    const bool has_pair = (begins || ends) && stack.size() > 1;
    if (ends && has_pair) entries.push_back({&event, function_pair(stack)});
    entries.push_back({&event, event_text(event)});
    if ((begins || ends) && !stack.empty()) entries.push_back({&event, "<stack trace>", &stack});
    if (begins && has_pair) entries.push_back({&event, function_pair(stack)});
  }
  return entries;
}

std::string header_of(const LatencyWindow& window, const SessionInfo& info, std::size_t entries) {
  std::string text = fmt::format(
      "# tracer: {0}\n#\n# {0} latency trace v1.1.5 on {1}\n# {2:->68}\n"
      "# latency: {3} us, #{4}/{5}, CPU#{6} | (M:{7} VP:0, KP:0, SP:0 HP:0 #P:{8})\n"
      "#    -----------------\n"
      "#    | task: {9}-{10} (uid:{11} nice:{12} policy:{13} rt_prio:{14})\n"
      "#    -----------------\n",
      window.tracer, printable(info.kernel), "", window.latency_ns / 1000, entries,
      entries + window.lost_events, window.queued_cpu, window.preemption, info.cpus,
      printable(window.thread.comm), window.thread.tid, window.uid, window.nice, window.policy,
      window.rt_priority);
  if (!window.lower_bound.empty())
    text += fmt::format("#  => at least that: {}\n", window.lower_bound);
  text +=
      "#\n"
      "#                  _------=> CPU#\n"
      "#                 / _-----=> irqs-off\n"
      "#                | / _----=> need-resched\n"
      "#                || / _---=> hardirq/softirq\n"
      "#                ||| / _--=> preempt-depth\n"
      "#                |||| /     delay\n"
      "#  cmd     pid   ||||| time  |   caller\n"
      "#     \\   /      |||||  \\    |   /\n";
  return text;
}

/// The kernel's text, made printable: threads may put any bytes into their names.
std::string kernels_own(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string line = printable(lines.substr(0, end));
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line.substr(i, 2) == "\\\\") ++i;  // the legend is drawn with backslashes
      text += line[i];
    }
    text += '\n';
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
  }
  return text;
}

std::string our_lines(const LatencyWindow& window, const SessionInfo& info) {
  const Bounds bounds(window);
  const std::vector<Entry> entries = entries_of(window, bounds);
  std::string text = header_of(window, info, entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const WindowEvent& at = *entries[i].at;
    const std::uint64_t next_ns = entries[i + 1 < entries.size() ? i + 1 : i].at->time_ns;
    fmt::format_to(std::back_inserter(text), "{:>8.8}-{:<5} {:3}{} {:4}us{}: {}\n",
                   short_name(at.thread), at.thread.tid, at.cpu, at.flags,
                   (at.time_ns - window.begin_ns) / 1000, delay_mark(next_ns - at.time_ns),
                   entries[i].text);
    if (!entries[i].stack) continue;
    for (const StackFrame& frame : *entries[i].stack)
      fmt::format_to(std::back_inserter(text), " => {}\n", to_text(frame));
  }
  return text;
}

/// Whether need-resched is set in the flags of a line. The CPU's number and the flags are the word
/// before the time.
bool has_need_resched(std::string_view line) {
  for (std::size_t unit = line.find("us"); unit != line.npos; unit = line.find("us", unit + 1)) {
    if (unit + 5 > line.size()) return false;
    if (line.substr(unit + 3, 2) != ": ") continue;
    const std::size_t before_time = line.find_last_not_of("0123456789", unit - 1);
    const std::size_t end = line.find_last_not_of(' ', before_time);
    const std::size_t begin = line.find_last_of(' ', end);
    if (begin == line.npos || end == line.npos) return false;
    const std::string_view word = line.substr(begin + 1, end - begin);
    const std::size_t flags = word.find_first_not_of("0123456789");
    return flags != word.npos && flags + 1 < word.size() &&
           std::string_view("NnpBbLl").find(word[flags + 1]) != std::string_view::npos;
  }
  return false;
}

std::string with_first_resched_bold(const std::string& text) {
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    if (text[begin] == '#' || !has_need_resched(std::string_view(text).substr(begin, end - begin)))
      continue;
    return text.substr(0, begin) + "\x1b[1m" + text.substr(begin, end - begin) + "\x1b[0m" +
           text.substr(end);
  }
  return text;
}

}  // namespace

char delay_mark(std::uint64_t ns) {
  struct Mark {
    std::uint64_t beyond_ns;
    char mark;
  };
  constexpr Mark marks[] = {{1'000'000'000, '$'}, {100'000'000, '@'}, {10'000'000, '*'},
                            {1'000'000, '#'},     {100'000, '!'},     {10'000, '+'}};
  for (const Mark& mark : marks)
    if (ns > mark.beyond_ns) return mark.mark;
  return ' ';
}

std::string latency_format(const LatencyWindow& window, const SessionInfo& info, bool color) {
  const std::string text =
      window.kernel_text.empty() ? our_lines(window, info) : kernels_own(window.kernel_text);
  return color ? with_first_resched_bold(text) : text;
}

}  // namespace overdue
