// Drawings of the page: bars of parts that add up, and distributions. They have no styles of their
// own, which the page's policy would refuse.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/text.h"
#include "sinks/html_layout.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

struct KnownPart {
  std::string_view key, label, color;  ///< color: a class of html.css
};
/// The parts of latencies, which have the same keys everywhere.
constexpr KnownPart known_parts[] = {
    {"oncpu_ns", "on CPU", "run"},         {"runqueue_ns", "run queue", "ready"},
    {"preempted_ns", "preempted", "lost"}, {"throttled_ns", "throttled", "over"},
    {"blocked_ns", "blocked", "held"},     {"futex_ns", "futex", "held"},
    {"lock_ns", "lock", "held"},           {"disk_ns", "disk", "disk"},
    {"fault_ns", "page faults", "fault"},  {"events_ns", "poll", "rest"},
    {"input_ns", "input", "input"},        {"output_ns", "output", "output"},
    {"sleep_ns", "sleep", "sleep"},        {"child_ns", "children", "child"},
    {"stopped_ns", "stopped", "stop"},     {"other_ns", "other waits", "other"},
    {"sleeping_ns", "sleeping", "held"},   {"uninterruptible_ns", "uninterruptible", "disk"},
    {"irq_ns", "interrupts", "fault"},     {"softirq_ns", "soft interrupts", "output"},
    {"network_ns", "network", "net"},      {"work_ns", "waiting for work", "work"},
    {"unknown_ns", "unknown", "unknown"},
};

const KnownPart* known(std::string_view key) {
  const auto* const found = std::ranges::find(known_parts, key, &KnownPart::key);
  return found == std::end(known_parts) ? nullptr : found;
}

struct BarPart {
  std::string label;
  std::string_view color;
  double size;
};

void add_part(std::vector<BarPart>& parts, const HtmlValue& value) {
  const KnownPart* const part = known(value.key);
  if (value.kind == HtmlValue::Kind::number && value.number > 0)
    parts.push_back({html_label(value.key), part ? part->color : "other", value.number});
}

constexpr double drawing_width = 1000, drawing_height = 12;

}  // namespace

std::string html_label(std::string_view key) {
  if (const KnownPart* const part = known(key)) return std::string(part->label);
  for (const std::string_view unit : {"_ns", "_bytes"})
    if (key.size() > unit.size() && key.ends_with(unit)) key.remove_suffix(unit.size());
  std::string label(key);
  std::ranges::replace(label, '_', ' ');
  return html_text(label);
}

std::string html_bar(const HtmlValue& object, const std::vector<const HtmlValue*>& splits) {
  std::vector<BarPart> parts;
  double all = 0;
  for (const HtmlValue& value : object.children) {
    const auto split = std::ranges::find(splits, value.key, &HtmlValue::part_of);
    if (split == splits.end())
      add_part(parts, value);
    else
      for (const HtmlValue& one : (*split)->children) add_part(parts, one);
    all += value.number;
  }
  if (all <= 0) return {};
  std::ranges::sort(parts, std::ranges::greater(), &BarPart::size);
  std::string text = fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
      drawing_width, drawing_height);
  std::string legend;
  double x = 0;
  for (const BarPart& part : parts) {
    const double width = part.size / all * drawing_width, percent = 100 * part.size / all;
    text += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"><title>{} {}, {:.1f} "
        "%</title></rect>",
        part.color, x, width, drawing_height, part.label,
        duration_text(static_cast<std::uint64_t>(part.size)), percent);
    x += width;
    if (percent >= 1)
      legend += fmt::format("{}<span class=\"{}\"></span>{}&#160;{:.0f}&#160;%",
                            legend.empty() ? "" : ", ", part.color, part.label, percent);
  }
  return text + "</svg><span class=\"legend\">" + legend + "</span>";
}

bool is_histogram(const HtmlValue& value) {
  return value.kind == HtmlValue::Kind::list && !value.children.empty() &&
         value.children.front().kind == HtmlValue::Kind::bucket;
}

std::string html_histogram(const HtmlValue& list) {
  constexpr double width = 160, height = 28;
  std::uint64_t most = 1;
  for (const HtmlValue& bucket : list.children) most = std::max(most, bucket.count);
  // A bucket's place is the logarithm of its lower bound, as the buckets grow with the latency.
  const auto place = [](double ns) { return std::log2(std::max(ns, 1.0)); };
  const double low = place(list.children.front().number);
  const double high = std::max(place(list.children.back().number), low + 1) + 1;
  std::string text = fmt::format(
      "<svg class=\"histogram\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">",
      width, height);
  for (const HtmlValue& bucket : list.children) {
    const double tall =
        std::max(1.0, height * static_cast<double>(bucket.count) / static_cast<double>(most));
    const std::string end = bucket.high > 0
                                ? " to " + duration_text(static_cast<std::uint64_t>(bucket.high))
                                : " and more";
    text += fmt::format(
        "<rect class=\"run\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"3\" height=\"{:.1f}\">"
        "<title>{}{}: {}</title></rect>",
        (place(bucket.number) - low) / (high - low) * (width - 3), height - tall, tall,
        duration_text(static_cast<std::uint64_t>(bucket.number)), end, grouped(bucket.count));
  }
  return text + "</svg>";
}

}  // namespace overdue
