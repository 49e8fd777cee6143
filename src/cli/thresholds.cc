#include "cli/thresholds.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "core/span_schema.h"
#include "probes/syscalls/names.h"

namespace overdue {
namespace {

constexpr std::string_view how = "-T 10ms, or -T 10ms,fsync=1ms,futex=1s";

std::optional<span_kind> span_of(std::string_view name) {
  for (std::uint16_t kind = SPAN_NONE + 1; kind < SPAN_COUNT; ++kind)
    if (span_name(kind) == name) return static_cast<span_kind>(kind);
  return std::nullopt;
}

void add(Thresholds& thresholds, std::string_view item) {
  const std::size_t equals = item.find('=');
  const std::string_view name = equals == item.npos ? "" : item.substr(0, equals);
  const std::string_view value = equals == item.npos ? item : item.substr(equals + 1);
  const Duration time = parse_duration(value, "-T");
  if (time == Duration(0))
    throw Error("a threshold of 0 would find everything late: -T {}", printable(item))
        .hint("-T 1ns, if that is what you want")
        .exit_status(2);
  if (equals == item.npos) {
    thresholds.general = time;
  } else if (const auto span = span_of(name)) {
    thresholds.by_span[*span] = time;
  } else if (const auto nr = syscall_number(ABI_NATIVE, name)) {
    thresholds.by_call[*nr] = time;
  } else {
    throw Error("-T {}: '{}' is neither a system call nor a kind of span", printable(item),
                printable(name))
        .hint(std::string(how))
        .exit_status(2);
  }
}

}  // namespace

std::optional<Duration> Thresholds::of(span_kind span) const {
  const auto found = by_span.find(span);
  return found != by_span.end() ? found->second : general;
}

std::optional<Duration> Thresholds::of_call(std::uint32_t nr) const {
  const auto found = by_call.find(nr);
  return found != by_call.end() ? found->second : of(SPAN_SYSCALL);
}

Duration Thresholds::least() const {
  Duration least = Duration::max();
  if (general) least = *general;
  for (const auto& [span, time] : by_span) least = std::min(least, time);
  for (const auto& [call, time] : by_call) least = std::min(least, time);
  return least;
}

void change_thresholds(Thresholds& thresholds, std::string_view list) {
  Thresholds changed = thresholds;
  for (const std::string_view item : split(list, ',')) add(changed, item);
  thresholds = std::move(changed);
}

std::string to_text(const Thresholds& thresholds) {
  std::vector<std::string> items;
  if (thresholds.general) items.push_back(format_duration(*thresholds.general));
  for (const auto& [span, time] : thresholds.by_span)
    items.push_back(fmt::format("{}={}", span_name(span), format_duration(time)));
  for (const auto& [nr, time] : thresholds.by_call)
    items.push_back(
        fmt::format("{}={}", builtin_syscall_name(ABI_NATIVE, nr), format_duration(time)));
  return fmt::format("{}", fmt::join(items, ","));
}

Thresholds parse_thresholds(const std::vector<std::string>& values) {
  Thresholds thresholds;
  for (const std::string& value : values)
    for (const std::string_view item : split(value, ',')) add(thresholds, item);
  if (!thresholds.general && thresholds.by_span.empty() && thresholds.by_call.empty())
    throw Error("what is late? No threshold was given").hint(std::string(how)).exit_status(2);
  return thresholds;
}

}  // namespace overdue
