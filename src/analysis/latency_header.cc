#include "analysis/latency_header.h"

#include <charconv>
#include <string>

#include "base/text.h"

namespace overdue {
namespace {

/// The text after `word` in `line`, up to the first character of `end`.
std::optional<std::string_view> behind(std::string_view line, std::string_view word,
                                       std::string_view end) {
  const std::size_t at = line.find(word);
  if (at == line.npos) return std::nullopt;
  const std::string_view rest = line.substr(at + word.size());
  return rest.substr(0, rest.find_first_of(end));
}

template <typename T>
bool number(std::string_view line, std::string_view word, T& value) {
  const auto text = behind(line, word, " ,/)|");
  if (!text) return false;
  return std::from_chars(text->data(), text->data() + text->size(), value).ec == std::errc{};
}

/// Reads `#    | task: ps-6143 (uid:0 nice:0 policy:0 rt_prio:0)`. A name may contain any text.
void read_task(std::string_view line, LatencyWindow& window) {
  constexpr std::string_view begin = "| task: ";
  const std::size_t figures = line.rfind(" (uid:");
  if (figures == line.npos) return;
  const std::size_t from = line.find(begin) + begin.size();
  const std::string_view who = line.substr(from, figures > from ? figures - from : 0);
  const std::size_t dash = who.rfind('-');
  if (dash == who.npos) return;
  window.thread.comm = who.substr(0, dash);
  std::from_chars(who.data() + dash + 1, who.data() + who.size(), window.thread.tid);
  const std::string_view rest = line.substr(figures);
  number(rest, "(uid:", window.uid);
  number(rest, " nice:", window.nice);
  number(rest, " policy:", window.policy);
  number(rest, " rt_prio:", window.rt_priority);
}

}  // namespace

std::optional<LatencyWindow> parse_latency_trace(std::string_view text) {
  LatencyWindow window;
  window.number = 1;
  bool has_latency = false;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with('#')) break;
    if (const auto name = behind(line, "# tracer: ", " ")) {
      for (std::uint16_t tracer = WORST_WAKEUP; tracer <= WORST_PREEMPTIRQSOFF; ++tracer)
        if (*name == tracer_name(tracer)) window.tracer = tracer_name(tracer);
    } else if (line.starts_with("# latency: ")) {
      std::uint64_t us = 0, shown = 0, all = 0;
      has_latency = number(line, "latency: ", us);
      window.latency_ns = us * 1000;
      if (number(line, " us, #", shown) && number(line, "#" + std::to_string(shown) + "/", all))
        window.lost_events = all > shown ? all - shown : 0;
      number(line, "CPU#", window.cpu);
      window.queued_cpu = window.cpu;
      if (const auto model = behind(line, "(M:", " ")) window.preemption = *model;
    } else if (line.find("| task: ") != line.npos) {
      read_task(line, window);
    }
  }
  if (!has_latency || window.tracer.empty()) return std::nullopt;
  window.kernel_text = text;
  return window;
}

}  // namespace overdue
