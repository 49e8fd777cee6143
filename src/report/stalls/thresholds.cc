#include "report/stalls/thresholds.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "core/span_kinds.h"
#include "kernel/glob.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr std::string_view threshold_forms = "-T 10ms, -T p99, or -T 10ms,fsync=1ms,futex=p99.9";
constexpr std::string_view of_threads = "thread:";

class Parser {
 public:
  Parser(const std::vector<std::string>& pairs, Thresholds before)
      : thresholds(std::move(before)), pairs_(pairs) {}

  void add(std::string_view item) {
    const std::size_t equals = item.rfind('=');  // a glob may contain one
    const bool is_named = equals != item.npos;
    const Value value = value_of(item, is_named ? item.substr(equals + 1) : item);
    if (is_named) {
      add_named(item, item.substr(0, equals), value);
      return;
    }
    thresholds.general = value.time;
    thresholds.percentiles.general = value.percentile;
  }

  Thresholds thresholds;

 private:
  /// One of the two.
  struct Value {
    std::optional<Duration> time;
    std::optional<Percentile> percentile;
  };

  static Value value_of(std::string_view item, std::string_view value) {
    if (const auto percentile = parse_percentile(value)) return {{}, percentile};
    return {time_of(item, value), {}};
  }

  static Duration time_of(std::string_view item, std::string_view value) {
    const Duration time = parse_duration(value, "-T");
    if (time == Duration(0))
      throw Error("a threshold of 0 would find everything late: -T {}", printable(item))
          .hint("-T 1ns, if that is what you want")
          .exit_status(2);
    return time;
  }

  /// The last value for a name counts.
  template <typename Key>
  static void put(std::map<Key, Duration>& times, std::map<Key, Percentile>& percentiles,
                  const Key& key, const Value& value) {
    times.erase(key);
    percentiles.erase(key);
    if (value.time) times[key] = *value.time;
    if (value.percentile) percentiles[key] = *value.percentile;
  }

  void add_named(std::string_view item, std::string_view name, const Value& value) {
    Percentiles& percentiles = thresholds.percentiles;
    if (name.starts_with(of_threads)) {
      add_thread(name.substr(of_threads.size()), value);
    } else if (std::find(pairs_.begin(), pairs_.end(), name) != pairs_.end()) {
      put(thresholds.by_pair, percentiles.by_pair, std::string(name), value);
    } else if (const auto span = find_span_kind(name)) {
      put(thresholds.by_span, percentiles.by_span, *span, value);
    } else if (const auto nr = syscall_number(ABI_NATIVE, name)) {
      put(thresholds.by_call, percentiles.by_call, *nr, value);
    } else {
      std::vector<std::string_view> names(pairs_.begin(), pairs_.end());
      for (const SpanKind* kind : span_kinds()) names.push_back(kind->name);
      throw Error("-T {}: '{}' is neither a system call nor a kind of span{}{}", printable(item),
                  printable(name), pairs_.empty() ? "" : " nor one of yours",
                  suggestion(name, names))
          .hint(std::string(threshold_forms) + ", or -T 'thread:web-*=5ms'")
          .exit_status(2);
    }
  }

  void add_thread(std::string_view glob, const Value& value) {
    if (!value.time)
      throw Error("-T {}{}: a percentile is of a kind of span or a system call, of all threads",
                  of_threads, printable(glob))
          .hint("-T 'thread:web-*=5ms', or -t TID -T p99")
          .exit_status(2);
    if (glob.empty())
      throw Error("-T {}: which threads?", of_threads).hint("-T 'thread:web-*=5ms'").exit_status(2);
    compile_glob(glob);  // throws if the glob is invalid
    const auto same =
        std::ranges::find(thresholds.by_thread, glob, &std::pair<std::string, Duration>::first);
    if (same != thresholds.by_thread.end())
      same->second = *value.time;
    else
      thresholds.by_thread.emplace_back(glob, *value.time);
  }

  const std::vector<std::string>& pairs_;
};

Error no_threshold(std::string_view span) {
  return Error("there is no threshold for {}", span)
      .hint(fmt::format("-T 10ms, or -T {}=10ms", span))
      .exit_status(2);
}

Error mixed_with_threads(span_kind kind) {
  return Error("-T: the threshold of {} is a percentile, and those of threads are times",
               span_name(kind))
      .hint("a time for both, or percentiles of single calls: -T read=p99,'thread:web-*=5ms'")
      .exit_status(2);
}

void keep_least(std::optional<Duration>& least, std::optional<Duration> time) {
  if (time && (!least || *time < *least)) least = time;
}

std::string value_text(Duration time) {
  return format_duration(time);
}
std::string value_text(Percentile percentile) {
  return to_text(percentile);
}

/// Whether spans of this kind name their thread, so that globs of thread names apply.
bool has_thread(span_kind span) {
  return is_of_thread(span) || span == SPAN_PAIR;
}

}  // namespace

std::optional<Duration> Thresholds::of(span_kind span) const {
  const auto found = by_span.find(span);
  if (found != by_span.end()) return found->second;
  return percentile_of(span) ? std::nullopt : general;
}

std::optional<Duration> Thresholds::of_call(std::uint32_t nr) const {
  const auto found = by_call.find(nr);
  if (found != by_call.end()) return found->second;
  return percentile_of_call(nr) ? std::nullopt : of(SPAN_SYSCALL);
}

std::optional<Percentile> Thresholds::percentile_of(span_kind span) const {
  if (by_span.contains(span)) return std::nullopt;
  const auto found = percentiles.by_span.find(span);
  return found != percentiles.by_span.end() ? found->second : percentiles.general;
}

std::optional<Percentile> Thresholds::percentile_of_call(std::uint32_t nr) const {
  if (by_call.contains(nr)) return std::nullopt;
  const auto found = percentiles.by_call.find(nr);
  return found != percentiles.by_call.end() ? found->second : percentile_of(SPAN_SYSCALL);
}

std::optional<Percentile> Thresholds::percentile_of_pair(const std::string& name) const {
  if (by_pair.contains(name)) return std::nullopt;
  const auto found = percentiles.by_pair.find(name);
  return found != percentiles.by_pair.end() ? found->second : percentile_of(SPAN_PAIR);
}

bool Thresholds::has_percentile(span_kind span) const {
  return percentile_of(span) || (span == SPAN_SYSCALL && !percentiles.by_call.empty()) ||
         (span == SPAN_PAIR && !percentiles.by_pair.empty());
}

std::optional<Duration> Thresholds::of_thread(span_kind span, std::string_view comm) const {
  if (has_thread(span))
    for (const auto& [glob, time] : by_thread)
      if (glob_matches(glob, comm)) return time;
  return of(span);
}

std::optional<Duration> Thresholds::least_of(span_kind span) const {
  std::optional<Duration> least = of(span);
  if (has_thread(span))
    for (const auto& [glob, time] : by_thread) keep_least(least, time);
  return least;
}

void change_thresholds(Thresholds& thresholds, std::string_view list,
                       const std::vector<std::string>& pairs) {
  Parser parser(pairs, thresholds);
  for (const std::string_view item : split(list, ',')) parser.add(item);
  thresholds = std::move(parser.thresholds);
}

std::string to_text(const Thresholds& thresholds) {
  std::vector<std::string> items;
  const auto add = [&](std::string_view name, const auto& value) {
    items.push_back(fmt::format("{}={}", name, value_text(value)));
  };
  const auto add_all = [&](const auto& all) {
    if (all.general) items.push_back(value_text(*all.general));
    for (const auto& [kind, value] : all.by_span) add(span_name(kind), value);
    for (const auto& [nr, value] : all.by_call) add(builtin_syscall_name(ABI_NATIVE, nr), value);
    for (const auto& [name, value] : all.by_pair) add(name, value);
  };
  add_all(thresholds);
  add_all(thresholds.percentiles);
  for (const auto& [glob, time] : thresholds.by_thread)
    add(fmt::format("{}{}", of_threads, glob), time);
  return fmt::format("{}", fmt::join(items, ","));
}

void check_narrower(const Thresholds& asked, const Thresholds& recorded,
                    const std::vector<span_kind>& kinds) {
  if (asked == recorded) return;
  if (!asked.percentiles.empty())
    throw Error("a percentile is chosen while operations are measured, not from a recording")
        .hint("a time, such as -T 10ms; or overdue stalls -T p99")
        .exit_status(2);
  if (!recorded.percentiles.empty())
    throw Error("the thresholds of this recording are percentiles ({}), and no times",
                printable(to_text(recorded)))
        .hint("leave -T out")
        .exit_status(2);
  const auto check = [](std::string_view name, std::optional<Duration> wanted,
                        std::optional<Duration> kept) {
    if (!wanted || (kept && *kept <= *wanted)) return;
    const std::string from =
        kept ? fmt::format(" that took less than {}", format_duration(*kept)) : std::string();
    throw Error("the recording has no {}{}", name, from)
        .hint(kept ? fmt::format("-T {}={}, or longer", name, format_duration(*kept))
                   : fmt::format("record again, with -T {}=TIME", name))
        .exit_status(2);
  };
  for (const span_kind kind : kinds) {
    std::optional<Duration> kept = recorded.of(kind);
    if (kept && has_thread(kind))
      for (const auto& [glob, time] : recorded.by_thread) kept = std::max(*kept, time);
    check(span_name(kind), asked.least_of(kind), kept);
    if (kind == SPAN_SYSCALL)
      for (const auto* const calls : {&asked.by_call, &recorded.by_call})
        for (const auto& [nr, time] : *calls)
          check(builtin_syscall_name(ABI_NATIVE, nr), asked.of_call(nr), recorded.of_call(nr));
  }
  for (const auto& [name, time] : asked.by_pair) {
    const auto found = recorded.by_pair.find(name);
    check(name, time, found != recorded.by_pair.end() ? found->second : recorded.of(SPAN_PAIR));
  }
}

bool Thresholds::are_of_every_span(const std::vector<span_kind>& kinds) const {
  constexpr Duration shortest{1};
  const auto is_long = [&](const auto& one) { return one.second > shortest; };
  return by_thread.empty() && percentiles.empty() && std::ranges::none_of(by_pair, is_long) &&
         std::ranges::all_of(kinds, [&](span_kind kind) {
           return kind == SPAN_PAIR ? !general || *general <= shortest : of(kind) == shortest;
         });
}

Duration Thresholds::least(const std::vector<span_kind>& kinds) const {
  std::optional<Duration> least;
  for (const span_kind kind : kinds) {
    keep_least(least, least_of(kind));
    if (kind == SPAN_SYSCALL)
      for (const auto& [call, time] : by_call) keep_least(least, time);
    if (kind == SPAN_PAIR)
      for (const auto& [name, time] : by_pair) keep_least(least, time);
  }
  return least.value_or(Duration::max());
}

void Thresholds::check(const std::vector<span_kind>& kinds,
                       const std::vector<std::string>& pairs) const {
  const auto wanted = [&](span_kind kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  const auto check_wanted = [&](const auto& all) {
    for (const auto& [kind, value] : all)
      if (!wanted(kind))
        throw Error("-T has a threshold for {}, which is not looked for", span_name(kind))
            .hint(fmt::format("--span {}", span_name(kind)))
            .exit_status(2);
  };
  check_wanted(by_span);
  check_wanted(percentiles.by_span);
  const bool has_calls = !by_call.empty() || !percentiles.by_call.empty();
  if (has_calls && !wanted(SPAN_SYSCALL))
    throw Error("-T has a threshold for a system call, and those are not looked for")
        .hint("--span syscall")
        .exit_status(2);
  for (const span_kind kind : kinds) {
    if (!by_thread.empty() && has_thread(kind) && percentile_of(kind))
      throw mixed_with_threads(kind);
    if (least_of(kind) || percentile_of(kind) || (kind == SPAN_SYSCALL && has_calls)) continue;
    if (kind != SPAN_PAIR) throw no_threshold(span_name(kind));
    for (const std::string& pair : pairs)
      if (!by_pair.contains(pair) && !percentile_of_pair(pair)) throw no_threshold(pair);
  }
}

void Thresholds::check_times() const {
  if (percentiles.empty()) return;
  throw Error("only `overdue stalls` chooses percentiles as thresholds")
      .hint("overdue stalls -T p99 --save FILE")
      .exit_status(2);
}

Thresholds parse_thresholds(const std::vector<std::string>& values,
                            const std::vector<std::string>& pairs) {
  Parser parser(pairs, {});
  for (const std::string& value : values)
    for (const std::string_view item : split(value, ',')) parser.add(item);
  if (parser.thresholds == Thresholds{})
    throw Error("no threshold given").hint(std::string(threshold_forms)).exit_status(2);
  return parser.thresholds;
}

}  // namespace overdue
