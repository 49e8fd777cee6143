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

constexpr std::string_view how = "-T 10ms, or -T 10ms,fsync=1ms,futex=1s";
constexpr std::string_view of_threads = "thread:";

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& pairs) : pairs_(pairs) {}

  void add(std::string_view item) {
    const std::size_t equals = item.rfind('=');  // a glob may contain one
    const bool is_named = equals != item.npos;
    const Duration time = time_of(item, is_named ? item.substr(equals + 1) : item);
    if (is_named)
      add_named(item, item.substr(0, equals), time);
    else
      thresholds.general = time;
  }

  Thresholds thresholds;

 private:
  static Duration time_of(std::string_view item, std::string_view value) {
    const Duration time = parse_duration(value, "-T");
    if (time == Duration(0))
      throw Error("a threshold of 0 would find everything late: -T {}", printable(item))
          .hint("-T 1ns, if that is what you want")
          .exit_status(2);
    return time;
  }

  void add_named(std::string_view item, std::string_view name, Duration time) {
    if (name.starts_with(of_threads)) {
      add_thread(name.substr(of_threads.size()), time);
    } else if (std::find(pairs_.begin(), pairs_.end(), name) != pairs_.end()) {
      thresholds.by_pair[std::string(name)] = time;
    } else if (const auto span = find_span_kind(name)) {
      thresholds.by_span[*span] = time;
    } else if (const auto nr = syscall_number(ABI_NATIVE, name)) {
      thresholds.by_call[*nr] = time;
    } else {
      std::vector<std::string_view> names(pairs_.begin(), pairs_.end());
      for (const SpanKind* kind : span_kinds()) names.push_back(kind->name);
      throw Error("-T {}: '{}' is neither a system call nor a kind of span{}{}", printable(item),
                  printable(name), pairs_.empty() ? "" : " nor one of yours",
                  suggestion(name, names))
          .hint(std::string(how) + ", or -T 'thread:web-*=5ms'")
          .exit_status(2);
    }
  }

  void add_thread(std::string_view glob, Duration time) {
    if (glob.empty())
      throw Error("-T {}: which threads?", of_threads).hint("-T 'thread:web-*=5ms'").exit_status(2);
    compile_glob(glob);  // throws if the glob is invalid
    thresholds.by_thread.emplace_back(glob, time);
  }

  const std::vector<std::string>& pairs_;
};

Error no_threshold(std::string_view span) {
  return Error("there is no threshold for {}", span)
      .hint(fmt::format("-T 10ms, or -T {}=10ms", span))
      .exit_status(2);
}

void keep_least(std::optional<Duration>& least, std::optional<Duration> time) {
  if (time && (!least || *time < *least)) least = time;
}

/// Whether spans of this kind name their thread, so that globs of thread names apply.
bool has_thread(span_kind span) {
  return is_of_thread(span) || span == SPAN_PAIR;
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
  Parser parser(pairs);
  for (const std::string_view item : split(list, ',')) parser.add(item);
  Thresholds& news = parser.thresholds;
  if (news.general) thresholds.general = news.general;
  for (const auto& [kind, time] : news.by_span) thresholds.by_span[kind] = time;
  for (const auto& [nr, time] : news.by_call) thresholds.by_call[nr] = time;
  for (const auto& [name, time] : news.by_pair) thresholds.by_pair[name] = time;
  for (auto& [glob, time] : news.by_thread) {
    const auto same = std::find_if(thresholds.by_thread.begin(), thresholds.by_thread.end(),
                                   [&](const auto& one) { return one.first == glob; });
    if (same != thresholds.by_thread.end())
      same->second = time;
    else
      thresholds.by_thread.emplace_back(std::move(glob), time);
  }
}

std::string to_text(const Thresholds& thresholds) {
  std::vector<std::string> items;
  const auto add = [&](std::string_view name, Duration time) {
    items.push_back(fmt::format("{}={}", name, format_duration(time)));
  };
  if (thresholds.general) items.push_back(format_duration(*thresholds.general));
  for (const auto& [kind, time] : thresholds.by_span) add(span_name(kind), time);
  for (const auto& [nr, time] : thresholds.by_call) add(builtin_syscall_name(ABI_NATIVE, nr), time);
  for (const auto& [name, time] : thresholds.by_pair) add(name, time);
  for (const auto& [glob, time] : thresholds.by_thread)
    add(fmt::format("{}{}", of_threads, glob), time);
  return fmt::format("{}", fmt::join(items, ","));
}

void check_narrower(const Thresholds& asked, const Thresholds& recorded,
                    const std::vector<span_kind>& kinds) {
  if (asked == recorded) return;
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
  return by_thread.empty() && std::ranges::none_of(by_pair, is_long) &&
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
  for (const auto& [kind, time] : by_span)
    if (!wanted(kind))
      throw Error("-T has a threshold for {}, which is not looked for", span_name(kind))
          .hint(fmt::format("--span {}", span_name(kind)))
          .exit_status(2);
  if (!by_call.empty() && !wanted(SPAN_SYSCALL))
    throw Error("-T has a threshold for a system call, and those are not looked for")
        .hint("--span syscall")
        .exit_status(2);
  for (const span_kind kind : kinds) {
    if (least_of(kind) || (kind == SPAN_SYSCALL && !by_call.empty())) continue;
    if (kind != SPAN_PAIR) throw no_threshold(span_name(kind));
    for (const std::string& pair : pairs)
      if (!by_pair.contains(pair)) throw no_threshold(pair);
  }
}

Thresholds parse_thresholds(const std::vector<std::string>& values,
                            const std::vector<std::string>& pairs) {
  Parser parser(pairs);
  for (const std::string& value : values)
    for (const std::string_view item : split(value, ',')) parser.add(item);
  const Thresholds& all = parser.thresholds;
  if (!all.general && all.by_span.empty() && all.by_call.empty() && all.by_pair.empty() &&
      all.by_thread.empty())
    throw Error("no threshold given").hint(std::string(how)).exit_status(2);
  return parser.thresholds;
}

}  // namespace overdue
