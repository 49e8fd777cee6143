#include "analysis/timer_picture.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t noises_drawn = 12;  // the longest
constexpr std::string_view margin = "  ";

/// A line of text, written at any column and extended with spaces.
class Line {
 public:
  void put(std::size_t at, std::string_view text) {
    if (text_.size() < at + text.size()) text_.resize(at + text.size(), ' ');
    text_.replace(at, text.size(), text);
  }
  void fill(std::size_t from, std::size_t to, char c) {
    if (from < to) put(from, std::string(to - from, c));
  }
  std::size_t size() const { return text_.size(); }
  std::string str() const { return std::string(margin) + text_ + "\n"; }

 private:
  std::string text_;
};

/// Converts nanoseconds to columns.
struct Scale {
  std::uint64_t begin_ns;
  std::uint64_t dash_ns;

  Scale(const TimerCause& cause, std::size_t width) : begin_ns(cause.begin_ns), dash_ns(1000) {
    // Round numbers: 1, 2, 5, 10, … microseconds.
    for (std::uint64_t step = 0; cause.latency_ns / dash_ns > width; ++step)
      dash_ns = step % 3 == 1 ? dash_ns / 2 * 5 : dash_ns * 2;
  }
  std::size_t at(std::uint64_t ns) const {
    return static_cast<std::size_t>((ns - begin_ns) / dash_ns);
  }
};

std::string label_of(const timerlat_noise& noise) {
  const std::string_view kind = noise_kind_name(share_kind(noise.kind));
  if (!has_name(share_kind(noise.kind))) return fmt::format("{}_noise", kind);
  return fmt::format("{}_noise: {}:{}", kind, printable(noise_name(noise)), noise.number);
}

/// Text for the box of a noise entry, abbreviated if `room` is short.
std::string short_name(const timerlat_noise& noise, std::size_t room) {
  if (!has_name(share_kind(noise.kind)))
    return std::string(noise_kind_name(share_kind(noise.kind)));
  std::string name = printable(noise_name(noise));
  if (name == "local_timer" && name.size() > room) name = "timer";
  return name;
}

/// Draws a box from `from` to `to`, with as much of the noise's name as fits.
void put_box(Line& line, std::size_t from, std::size_t to, const timerlat_noise& noise,
             char inside) {
  const std::size_t room = to > from + 2 ? to - from - 2 : 0;
  if (room == 0) return line.put(from, std::string(std::max<std::size_t>(to - from, 1), '#'));
  const std::string name = short_name(noise, room).substr(0, room);
  line.put(from, "[" + name + std::string(room - name.size(), inside) + "]");
}

void draw_top(std::string& text, const TimerCause& cause, std::size_t irq, std::size_t end,
              std::string_view end_name) {
  Line names, figures, marks, heads;
  const bool apart = irq >= 12, far = end >= irq + 20;
  names.put(0, "timer set");
  if (apart) names.put(irq, "timer irq");
  names.put(far || !apart ? std::max<std::size_t>(end, names.size() + 2) : names.size() + 2,
            end_name);
  if (apart) figures.put(irq, fmt::format("{} ns", cause.irq_delay_ns));
  const std::size_t after = figures.size() > 0 ? figures.size() + 2 : 11;
  figures.put(far || !apart ? std::max(end, after) : after, fmt::format("{} ns", cause.latency_ns));
  marks.put(0, "|");
  heads.put(0, "v");
  marks.put(irq, irq > 0 ? "^" : "|");
  heads.put(irq, irq > 0 ? "|" : "v");
  marks.put(end, "^");
  heads.put(end, "|");
  Line dashes;
  dashes.put(0, "|");
  dashes.fill(1, end, '-');
  if (irq > 0 && irq < end) dashes.put(irq, "+");
  dashes.put(end, "|");
  for (const Line* line : {&names, &figures, &marks, &heads, &dashes}) text += line->str();
}

/// Draws threads, and interrupts above them, each while it had the CPU.
void draw_timeline(std::string& text, const TimerCause& cause, const Scale& scale, std::size_t end,
                   std::string_view who_ran) {
  Line interrupts, threads;
  for (const bool is_thread : {true, false}) {
    for (const CauseNoise& each : cause.noises) {
      const timerlat_noise& noise = each.noise;
      const std::size_t from = scale.at(noise.begin_ns), to = scale.at(noise.end_ns);
      if ((noise.kind == NOISE_THREAD) != is_thread) continue;
      put_box(is_thread ? threads : interrupts, from, to, noise, is_thread ? '.' : ' ');
      if (is_thread || to < from + 2 || to > threads.size()) continue;
      // The thread did not run meanwhile.
      threads.put(from, "^" + std::string(to - from - 2, ' ') + "v");
    }
  }
  const std::string rule(std::max<std::size_t>(end + who_ran.size() + 2, 40), '=');
  threads.put(std::max(end, threads.size()), fmt::format("[{}]", who_ran));
  threads.put(threads.size(), "   <-- CPU");
  text += fmt::format("{}{}\n", margin, rule);
  if (interrupts.size() > 0) text += interrupts.str();
  text += threads.str();
  text += fmt::format("{}{}\n", margin, rule);
}

void draw_noises(std::string& text, const TimerCause& cause, const Scale& scale, std::size_t end) {
  std::vector<const CauseNoise*> longest;
  for (const CauseNoise& each : cause.noises) longest.push_back(&each);
  std::sort(longest.begin(), longest.end(), [](const CauseNoise* a, const CauseNoise* b) {
    return std::tuple(b->net_ns, a) < std::tuple(a->net_ns, b);
  });
  const std::size_t left_out = longest.size() - std::min(longest.size(), noises_drawn);
  longest.resize(longest.size() - left_out);
  std::sort(longest.begin(), longest.end());  // in order of time
  for (const CauseNoise* each : longest) {
    const std::size_t from = scale.at(each->noise.begin_ns), to = scale.at(each->noise.end_ns);
    Line line;
    line.put(from, "|");
    line.fill(from + 1, to, '-');
    if (to > from) line.put(to, "|");
    line.put(end + 3, fmt::format("{} {} ns", label_of(each->noise), each->net_ns));
    text += line.str();
  }
  if (left_out > 0) text += fmt::format("{}and {} shorter ones\n", margin, left_out);
}

}  // namespace

std::string draw_latency(const TimerCause& cause, std::size_t width) {
  if (cause.latency_ns == 0) return {};
  const Scale scale(cause, width);
  const std::size_t irq = scale.at(cause.irq_ns);
  const std::size_t end = std::max<std::size_t>(scale.at(cause.end_ns), 1);
  const bool to_user =
      cause.end_ns == cause.activation.user_ns && cause.end_ns != cause.activation.header.time_ns;
  std::string text;
  draw_top(text, cause, std::min(irq, end), end, to_user ? "back in user space" : "thread");
  draw_timeline(text, cause, scale, end, printable(fixed_text(cause.activation.header.comm)));
  draw_noises(text, cause, scale, end);
  text += fmt::format("{}each - is {} us\n", margin, scale.dash_ns / 1000);
  return text;
}

}  // namespace overdue
