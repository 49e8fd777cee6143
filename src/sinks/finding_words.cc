#include "sinks/finding_words.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t shown_functions = 5;  // of a stack, on one line

constexpr std::size_t shown_made = 3;  // functions of generated code, even from the middle

struct PathStep {
  std::string function;
  bool is_made = false;  // generated code, named by its runtime: the user's own function
};

/// The steps, outermost first, without the middle of a long path.
std::string path_text(const std::vector<PathStep>& steps) {
  const std::size_t from_here =
      steps.size() > shown_functions + 1 ? steps.size() - shown_functions + 1 : 1;
  std::vector<std::string> shown;
  std::size_t made = 0;
  const std::string* last_made = nullptr;  // "Interpreter" may call itself
  for (std::size_t i = steps.size(); i-- > 0;) {
    const auto& [function, is_made] = steps[i];
    const bool is_news = is_made && (!last_made || *last_made != function) && ++made <= shown_made;
    if (is_news) last_made = &function;
    shown.push_back(i == 0 || i >= from_here || is_news ? function : std::string(ellipsis));
  }
  const auto rest = std::unique(shown.begin(), shown.end(), [](const auto& a, const auto& b) {
    return a == ellipsis && b == ellipsis;
  });
  shown.erase(rest, shown.end());
  std::reverse(shown.begin(), shown.end());
  return fmt::format("{}", fmt::join(shown, " → "));
}

/// Whether every program calls this function on the way to its own first function.
bool is_of_start(std::string_view name) {
  constexpr std::array<std::string_view, 10> names = {"_start",
                                                      "__libc_start_main",
                                                      "__libc_start_main_impl",
                                                      "__libc_start_call_main",
                                                      "clone",
                                                      "clone3",
                                                      "__clone",
                                                      "__clone3",
                                                      "start_thread",
                                                      thread_start};
  return std::find(names.begin(), names.end(), name.substr(0, name.find('@'))) != names.end();
}

/// Whether a frame is an inlined template of the standard library, which says little.
bool is_inlined_library(const StackFrame& frame) {
  return frame.is_inlined &&
         (frame.name.starts_with("std::") || frame.name.starts_with("__gnu_cxx::"));
}

/// The name without the marks of a wrapper: "futex" of do_futex, "futex_wait" of __futex_wait.
std::string_view without_marks(std::string_view name) {
  constexpr std::array<std::string_view, 4> marks = {"_", "do_", "ksys_", "sys_"};
  for (bool is_marked = true; is_marked;) {
    const auto mark = std::ranges::find_if(marks, [&](std::string_view one) {
      return name.starts_with(one) && name.size() > one.size();
    });
    is_marked = mark != marks.end();
    if (is_marked) name.remove_prefix(mark->size());
  }
  return name;
}

/// Kernel functions, outermost first, without those that only lead to the next one: of do_futex,
/// futex_wait, __futex_wait and futex_do_wait, the second and the last.
std::vector<std::string> without_wrappers(std::vector<std::string> functions) {
  std::vector<std::string> kept;
  for (std::string& function : functions) {
    const std::string_view name = without_marks(function);
    if (!kept.empty()) {
      const std::string_view before = without_marks(kept.back());
      if (before == name) continue;
      if (name.starts_with(before) && name[before.size()] == '_') kept.pop_back();
    }
    kept.push_back(std::move(function));
  }
  return kept;
}

/// Source line of the program's own innermost function, if known: ", x.cc:12". Lines of the C
/// library only say how it makes a call.
std::string place_text(const Stack& stack) {
  for (const StackFrame& frame : stack)
    if (frame.line > 0 && !is_inlined_library(frame) && !is_of_c_library(frame))
      return fmt::format(", {}:{}", frame.file.substr(frame.file.rfind('/') + 1), frame.line);
  return {};
}

constexpr std::string_view was_preempted = "was preempted for", was_throttled = "was throttled for";

/// The activity or wait state of a step's thread, in the past tense.
std::string_view verb_of(std::string_view what) {
  if (what == "ran") return "ran";
  if (what == "preempted") return was_preempted;
  if (what == "throttled") return was_throttled;
  return what == "unknown" ? "could run and did not for" : "waited";
}

std::string where_it_ran(const CpuPlaces& on_cpu) {
  const std::string places = cpu_places_text(on_cpu);
  return places.empty() ? "" : ", " + places;
}

/// The longest place of waits that add up to `all_ns`, with its time if there are more places.
std::string where_it_waited(const WaitPlace& longest, std::uint64_t all_ns) {
  const std::string path = kernel_path(longest.kernel_stack);
  if (path.empty()) return {};
  const bool is_all = longest.ns >= all_ns - all_ns / 20;
  return is_all ? " in " + path
                : fmt::format(", {} of that in {}", duration_text(longest.ns), path);
}

/// Where or by what another activity of a step's thread was, which took `ns`; empty: unknown.
std::string circumstances(const ChainLink& link, std::string_view verb, std::uint64_t ns) {
  if (verb == "ran") return where_it_ran(link.on_cpu);
  if (verb == was_throttled) return link.throttle ? ", " + throttle_text(link.throttle) : "";
  const WaitPlace* longest = nullptr;
  CpuShares ran;
  for (std::size_t i = link.what == "ran" ? 0 : 1; i < link.places.size(); ++i) {
    const WaitPlace& place = link.places[i];
    if (verb_of(place.state) != verb) continue;
    if (!longest) longest = &place;
    ran.add(place.ran);
  }
  if (!longest) return {};
  if (verb == "waited") return where_it_waited(*longest, ns);
  const std::string by = verb == was_preempted ? shares_text("by", ran, ns) : "";
  return by.empty() ? "" : ", " + by;
}

}  // namespace

std::string thread_text(const ThreadName& thread) {
  if (thread.tid == 0) return "the idle thread";
  const std::string comm = thread.comm.empty() ? "thread" : printable(thread.comm);
  return fmt::format("{}[{}]", comm, thread.tid);
}

std::string interrupt_text(std::string_view means, std::string_view disk,
                           std::string_view context) {
  if (means.empty()) return printable(context);
  return fmt::format("{} ({}{}{})", means, printable(disk), disk.empty() ? "" : ", ",
                     printable(context));
}

std::string kernel_path(const Stack& stack) {
  std::vector<PathStep> steps;
  for (std::string& function : without_wrappers(telling_functions(stack)))
    steps.push_back({std::move(function)});
  return path_text(steps);
}

std::string user_path(const Stack& stack) {
  auto first = std::find_if_not(stack.rbegin(), stack.rend(),
                                [](const StackFrame& frame) { return is_of_start(frame.name); });
  if (first == stack.rend()) first = stack.rbegin();
  std::vector<PathStep> steps;
  bool in_c_library = false;
  for (auto frame = first; frame != stack.rend(); ++frame) {
    // Of the C library's functions, the called one says what for; the others say how.
    const bool is_internal = std::exchange(in_c_library, is_of_c_library(*frame)) && in_c_library;
    if (!is_inlined_library(*frame) && !is_internal)
      steps.push_back({to_text(*frame), is_of_runtime(*frame)});
    if (frame->follows_gap) steps.push_back({std::string(ellipsis)});
  }
  return path_text(steps) + place_text(stack);
}

std::string stop_text(const Wait& wait) {
  if (wait.means == "traced")
    return wait.tracer ? "stopped by a tracer, " + thread_text(*wait.tracer)
                       : "stopped by a tracer";
  if (wait.means == "frozen") return "frozen with its cgroup";
  if (!wait.stop) return wait.means.empty() ? "" : "stopped by a signal";
  const std::string sender = wait.stop->sender ? thread_text(*wait.stop->sender) : "the kernel";
  return fmt::format("stopped by {} of {}", wait.stop->name, sender);
}

std::string cpu_places_text(const CpuPlaces& on_cpu) {
  constexpr std::size_t most = 3;
  std::vector<std::string> said;
  for (const auto& [samples, stack] : on_cpu.places) {
    const bool is_much = samples * 10 >= on_cpu.samples;
    if (stack.empty() || said.size() == most || (!is_much && !said.empty())) continue;
    const std::string caller = stack.size() > 1 ? " ← " + to_text(stack[1]) : "";
    const std::uint64_t percent = (200 * samples + on_cpu.samples) / (2 * on_cpu.samples);
    const std::string share = percent < 100 ? fmt::format("{} % ", percent) : "";
    said.push_back(fmt::format("{}in {}{}", share, to_text(stack[0]), caller));
  }
  if (said.empty()) return {};
  return fmt::format("{} ({})", fmt::join(said, ", "), counted(on_cpu.samples, "sample"));
}

std::string throttle_text(const std::optional<Throttle>& by) {
  if (!by) return "by the CPU quota of a cgroup";
  const std::string limit =
      fmt::format("{} of each {}", duration_text(by->quota_ns), duration_text(by->period_ns));
  if (by->of_real_time && by->cgroup == "/")
    return fmt::format("by the limit of real-time threads ({})", limit);
  return fmt::format("by cgroup {} ({}{})", printable(by->cgroup), limit,
                     by->of_real_time ? ", real-time" : "");
}

std::string shares_text(std::string_view word, const CpuShares& shares, std::uint64_t all_ns) {
  constexpr std::size_t most = 3;
  const auto is_much = [all_ns](std::uint64_t ns) { return ns > 0 && ns >= all_ns / 20; };
  std::vector<std::string> said;
  std::string idle;
  bool idled = false;
  std::uint64_t others_ns = shares.others_ns, known_ns = shares.others_ns;
  for (const auto& [thread, ns, unused] : shares.threads) {
    if (thread.tid == 0 && word == by_threads) {
      idled = true;
      continue;
    }
    known_ns += ns;
    if (thread.tid == 0 && is_much(ns))
      idle = fmt::format("while the CPU idled {}", duration_text(ns));
    else if (thread.tid != 0 && said.size() < most)
      said.push_back(fmt::format("{}{}", thread_text(thread),
                                 ns >= all_ns - all_ns / 20 ? "" : " " + duration_text(ns)));
    else if (thread.tid != 0)
      others_ns += ns;
  }
  if (is_much(others_ns)) said.push_back(fmt::format("others {}", duration_text(others_ns)));
  const std::uint64_t unknown_ns = all_ns > known_ns ? all_ns - known_ns : 0;
  if (is_much(unknown_ns) && (known_ns > 0 || idled))
    said.push_back(fmt::format("unknown {}", duration_text(unknown_ns)));
  std::string text = said.empty() ? "" : fmt::format("{} {}", word, fmt::join(said, ", "));
  if (!idle.empty()) text += (text.empty() ? "" : ", ") + idle;
  return text;
}

std::string other_parts(const ChainLink& link) {
  if (!link.ledger) return {};
  const Breakdown& parts = *link.ledger;
  std::vector<std::pair<std::uint64_t, std::string_view>> all = {
      {parts.ns(ShareKind::oncpu), "ran"},
      {parts.blocked_ns() + parts.ns(ShareKind::runqueue), "waited"},
      {parts.ns(ShareKind::preempted), was_preempted},
      {parts.ns(ShareKind::throttled), was_throttled},
      {parts.ns(ShareKind::irq) + parts.ns(ShareKind::softirq), "was interrupted for"}};
  for (auto& [ns, verb] : all)
    if (verb == verb_of(link.what)) ns -= std::min(ns, link.ns);
  std::sort(all.begin(), all.end(), std::greater());
  std::string said;
  for (const auto& [ns, verb] : all)
    if (ns > 0 && ns >= link.during_ns / 10)
      said += fmt::format("; {} {}{}", verb, duration_text(ns), circumstances(link, verb, ns));
  if (parts.unexplained_ns >= link.during_ns / 10 && link.what != "unknown" &&
      parts.unexplained_ns > 0)
    said += fmt::format("; {} unknown", duration_text(parts.unexplained_ns));
  return said;
}

std::string link_text(const ChainLink& link) {
  const std::string who = thread_text(link.thread), where = kernel_path(link.kernel_stack);
  std::string said =
      fmt::format("{} held it up: {} {}", who, verb_of(link.what), duration_text(link.ns));
  const std::uint64_t count = link.places.empty() ? 0 : link.places.front().count;
  if (link.what != "ran" && count > 1) said += fmt::format(", {} times,", count);
  if (!where.empty()) said += " in " + where;
  if (link.what == "ran") said += where_it_ran(link.on_cpu);
  if (link.what == "preempted") {
    const std::string by = shares_text(by_threads, link.ran, link.ns);
    said += (by.empty() ? "" : ", ") + by;
  } else if (link.what == "throttled") {
    said += ", " + throttle_text(link.throttle);
  } else if (link.what == "waited" && link.runqueue_ns > link.ns / 10) {
    const std::string behind = shares_text(" behind", link.ran, link.runqueue_ns);
    said += fmt::format(", {} of that in the run queue{}", duration_text(link.runqueue_ns), behind);
  }
  if (!link.user_stack.empty()) said += fmt::format(", called from {}", user_path(link.user_stack));
  return said + other_parts(link);
}

}  // namespace overdue
