#include "analysis/wait_purpose.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "analysis/wait_functions.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

constexpr std::string_view purpose_time = "time", purpose_work = "work", purpose_answer = "answer",
                           purpose_unknown = "unknown", by_loop = "its event loop waits";

/// The name of a function without the suffixes of compilers and demanglers: parameters, "const",
/// ".constprop.0", a version.
std::string_view bare_name(std::string_view name) {
  for (const std::string_view suffix : {".constprop", ".isra", ".part", ".cold", ".lto_priv", "@"})
    if (const std::size_t at = name.find(suffix); at != name.npos && at > 0)
      name = name.substr(0, at);
  if (name.ends_with(" const")) name.remove_suffix(6);
  if (!name.ends_with(')')) return name;
  int open = 0;
  for (std::size_t at = name.size(); at-- > 1;) {
    if (name[at] == ')') ++open;
    if (name[at] == '(' && --open == 0) return name.substr(0, at);
  }
  return name;
}

/// The value of the argument `name` in the call's record; empty if the record has none.
std::string_view argument_of(const Finding& finding, std::string_view name) {
  for (const std::string_view argument : finding.arguments)
    if (argument.size() > name.size() && argument.starts_with(name) && argument[name.size()] == '=')
      return argument.substr(name.size() + 1);
  return {};
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Time from the call's begin to `moment_ns`, an argument of the call.
std::optional<std::uint64_t> until(const Finding& finding, std::uint64_t moment_ns) {
  const std::uint64_t end_ns = finding.time.time_since_epoch().count();
  const std::uint64_t begin_ns = end_ns > finding.latency_ns ? end_ns - finding.latency_ns : 0;
  return moment_ns > begin_ns ? moment_ns - begin_ns : 0;
}

/// Longest time that the call asked to wait, if known. Absolute times on clocks other than
/// CLOCK_MONOTONIC are ignored.
std::optional<std::uint64_t> request_of(const Finding& finding) {
  const std::string_view name = finding.name;
  if (name == "clock_nanosleep") {
    if (finding.given_ns == 0) return std::nullopt;
    const std::string_view flags = argument_of(finding, "flags");
    if (flags == "0") return finding.given_ns;
    if (argument_of(finding, "clockid") != "CLOCK_MONOTONIC") return std::nullopt;
    return until(finding, finding.given_ns);
  }
  if (name == "futex") {
    const std::string_view op = argument_of(finding, "op");
    if (finding.given_ns == 0 || op.find("CLOCK_REALTIME") != op.npos) return std::nullopt;
    return op.starts_with("FUTEX_WAIT_BITSET") ? until(finding, finding.given_ns)
                                               : finding.given_ns;
  }
  if (name == "nanosleep" || name == "epoll_pwait2" || name == "rt_sigtimedwait" ||
      name == "io_getevents")
    return finding.given_ns > 0 ? std::optional(finding.given_ns) : std::nullopt;
  if (name != "poll" && name != "epoll_wait" && name != "epoll_pwait") return std::nullopt;
  const auto milliseconds = number_of(argument_of(finding, "timeout"));
  return milliseconds ? std::optional(*milliseconds * 1'000'000) : std::nullopt;
}

/// Waits of a thread that may be no delay.
struct Meant {
  WaitKind kind = WaitKind::none;
  std::uint64_t ns = 0;
  bool is_main_loop = false;  ///< main function of a kernel thread
  const Wait* last = nullptr;
};

WaitKind kind_of_wait(const Wait& wait) {
  for (const StackFrame& frame : wait.kernel_stack)
    if (const WaitKind kind = wait_kind_of_kernel(frame.name); kind != WaitKind::none) return kind;
  return WaitKind::none;
}

Meant meant_by(const Finding& finding) {
  const bool is_call = finding.span == span_name(SPAN_SYSCALL);
  Meant meant{.kind = is_call ? wait_kind_of_call(finding.name) : WaitKind::none};
  const bool whole = meant.kind != WaitKind::none;
  std::uint64_t longest_ns = 0, stopped_ns = 0;
  for (const Wait& wait : finding.waits) {
    if (wait.state == "other") stopped_ns += wait.blocked_ns();
    if (wait.state != "sleeping") continue;
    const bool main_loop = is_main_loop(wait.kernel_stack);
    const WaitKind kind = main_loop ? WaitKind::input : kind_of_wait(wait);
    if (!whole && kind == WaitKind::none) continue;
    meant.ns += wait.blocked_ns();
    meant.last = &wait;
    if (wait.blocked_ns() < longest_ns) continue;
    longest_ns = wait.blocked_ns();
    meant.is_main_loop = main_loop;
    if (!whole) meant.kind = kind;
  }
  // Short waits have no records. A stop by a signal or a tracer is no time that the program asked
  // for.
  if (whole && finding.breakdown && finding.breakdown->ns(ShareKind::sleeping) > stopped_ns)
    meant.ns = std::max(meant.ns, finding.breakdown->ns(ShareKind::sleeping) - stopped_ns);
  meant.ns = std::min(meant.ns, finding.latency_ns);
  return meant;
}

/// Whether the wait ended by its timeout.
bool timed_out(const Finding& finding, const Meant& meant) {
  constexpr std::array<std::string_view, 8> counting = {
      "poll",       "ppoll",       "select",       "pselect6",
      "epoll_wait", "epoll_pwait", "epoll_pwait2", "io_getevents"};
  if (finding.type == "hang") return false;
  if (finding.error == "ETIMEDOUT") return true;
  if (finding.error == "EAGAIN" && finding.name == "rt_sigtimedwait") return true;
  const bool counts = std::find(counting.begin(), counting.end(), finding.name) != counting.end();
  if (counts && finding.result) return *finding.result == 0;
  if (finding.result && *finding.result > 0) return false;
  return meant.last && meant.last->waker && meant.last->waker->means == "timeout";
}

/// The time that a wait asked for, if the wait ended by its timeout; else the time that it took. A
/// request longer than the latency is ignored: its absolute time is of another clock, such as that
/// of a time namespace.
std::uint64_t asked_ns(const Finding& finding, const Meant& meant, bool ended_in_time) {
  const auto request = ended_in_time ? request_of(finding) : std::nullopt;
  const bool is_plausible = request && *request > 0 && *request <= finding.latency_ns;
  return is_plausible ? *request : meant.ns;
}

/// The frames of the program itself, without wait wrappers and without functions in which a thread
/// begins.
std::span<const StackFrame> own_frames(const Stack& stack) {
  const auto is_wrapper = [](const StackFrame& frame) {
    return is_of_c_library(frame) || is_wait_wrapper(bare_name(frame.name));
  };
  const auto is_start = [](const StackFrame& frame) {
    return is_of_c_library(frame) || is_thread_start(bare_name(frame.name));
  };
  const auto first = std::find_if_not(stack.begin(), stack.end(), is_wrapper);
  const auto last = std::find_if_not(stack.rbegin(), stack.rend(), is_start).base();
  return first < last ? std::span(first, last) : std::span<const StackFrame>();
}

/// A client waits for an answer if it has just asked, and the peer has not spoken since.
/// `latency_ns`: of a wait that goes on, its age.
bool has_asked(const CallObject& client, const Finding& finding) {
  constexpr std::uint64_t pause_ns = 50'000'000;               // between the question and the wait
  if (!client.written_ns || !client.received_ns) return true;  // no stream over TCP
  if (*client.written_ns > finding.latency_ns + pause_ns) return false;
  return finding.type != "hang" || *client.received_ns >= *client.written_ns;
}

/// The sleep of a call that only waits: its last waits may have no record.
std::uint64_t all_sleep_ns(const Finding& finding, const Meant& meant) {
  const std::uint64_t slept_ns = finding.breakdown ? finding.breakdown->ns(ShareKind::sleeping) : 0;
  return std::max(meant.ns, std::min(slept_ns, finding.latency_ns));
}

/// The purpose of a wait on one socket, by the side of its connection: who is asked for connections
/// waits for work. Time before the question is no delay.
std::optional<WaitPurpose> by_connection(const Finding& finding, const Meant& meant) {
  if (!finding.object) return std::nullopt;
  const CallObject& object = *finding.object;
  if (object.side == "listener" || object.side == "server")
    return WaitPurpose{purpose_work, fmt::format("a {}'s socket", object.side),
                       all_sleep_ns(finding, meant)};
  if (object.side != "client" || !has_asked(object, finding)) return std::nullopt;
  const std::uint64_t asked_ns = object.written_ns.value_or(finding.latency_ns);
  const std::uint64_t before_ns = finding.latency_ns > asked_ns ? finding.latency_ns - asked_ns : 0;
  return WaitPurpose{purpose_answer, "a client's socket", std::min(before_ns, meant.ns)};
}

/// The row that decides, and the name of the function.
struct Decision {
  const WaitFunction* row = nullptr;
  std::string_view function;
};

const WaitFunction* row_for(std::string_view function, RowReach reach, const Finding& finding) {
  const auto rows = wait_functions();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const WaitFunction& one) {
    return one.reach == reach && (one.thread.empty() || one.thread == finding.thread.comm) &&
           is_named(one.function, function);
  });
  return row == rows.end() ? nullptr : &*row;
}

Decision innermost(const Finding& finding, RowReach reach, std::span<const StackFrame> frames) {
  for (const StackFrame& frame : frames) {
    const std::string_view function = bare_name(frame.name);
    if (const WaitFunction* row = row_for(function, reach, finding)) return {row, function};
  }
  return {};
}

Decision by_stack(const Finding& finding, WaitKind kind) {
  if (!finding.user_stack) return {};
  const std::span<const StackFrame> stack(*finding.user_stack);
  const auto own = own_frames(*finding.user_stack);
  if (!own.empty()) {
    // The C library's lock functions are further inside than the program's functions.
    const auto inside = stack.first(static_cast<std::size_t>(own.data() - stack.data()));
    if (const Decision said = innermost(finding, RowReach::anywhere, inside); said.row) return said;
    if (const Decision said = innermost(finding, RowReach::caller, own.first(1)); said.row)
      return said;
  }
  if (const Decision said = innermost(finding, RowReach::anywhere, stack); said.row) return said;
  return kind == WaitKind::events ? innermost(finding, RowReach::fallback, stack) : Decision();
}

/// Whether the thread's main function is the only own function on the way to the wait.
bool is_in_main_function(const Finding& finding) {
  if (!finding.user_stack || !finding.user_stack_end.empty()) return false;
  const Stack& stack = *finding.user_stack;
  const bool was_begun = std::any_of(stack.rbegin(), stack.rend(), [](const StackFrame& frame) {
    return is_thread_start(bare_name(frame.name));
  });
  return was_begun && own_frames(stack).size() == 1;
}

/// Whether the wait is in a callback of an event loop that a row knows: the loop waits elsewhere.
bool is_below_event_loop(const Finding& finding) {
  return finding.user_stack && innermost(finding, RowReach::fallback, *finding.user_stack).row;
}

/// A sleep is no delay, unless it holds up an event loop.
WaitPurpose purpose_of_sleep(const Finding& finding, const Meant& meant, const WaitHabits& habits) {
  if (habits.sleeps_below_loop(finding) && !by_stack(finding, meant.kind).row)
    return {purpose_unknown, std::string(by_loop), 0};
  return {purpose_time, "its request", asked_ns(finding, meant, finding.result == 0)};
}

/// A wait for no descriptor is a sleep.
bool is_for_no_descriptor(const Finding& finding) {
  return argument_of(finding, "nfds") == "0";
}

bool is_for_one_descriptor(const Finding& finding) {
  return (finding.name == "poll" || finding.name == "ppoll") && argument_of(finding, "nfds") == "1";
}

WaitPurpose decided(const Decision& said, const Finding& finding, const Meant& meant) {
  WaitPurpose purpose{.of = said.row->purpose, .by = std::string(said.function)};
  if (purpose.of == purpose_work || purpose.of == purpose_time)
    purpose.meant_ns = asked_ns(finding, meant, timed_out(finding, meant));
  return purpose;
}

/// Whether the threads at the other side ran, or could run, for most of the wait: the program is
/// busy, and no idle pool waits for it.
bool is_behind_busy_threads(const Finding& finding) {
  std::uint64_t busy_ns = 0;
  for (const ChainLink& link : finding.chain) {
    if (!link.is_thread) continue;
    if (link.ledger)
      busy_ns += link.ledger->active_ns();
    else if (link.what == "ran")
      busy_ns += link.ns;
  }
  return busy_ns >= finding.latency_ns / 10 * 8;
}

/// The purpose of a wait that no rule decides: "unknown".
WaitPurpose undecided(const Finding& finding, const Meant& meant, WaitHabits& habits) {
  if (meant.kind == WaitKind::events || meant.kind == WaitKind::input) {
    if (is_for_one_descriptor(finding)) return {purpose_unknown, "one descriptor", 0};
    return {purpose_unknown, "", meant.ns};
  }
  const bool is_whole = finding.user_stack && !finding.user_stack->empty() &&
                        finding.user_stack_end.empty() && finding.thread.pid != finding.thread.tid;
  if (is_whole && habits.is_habit(finding) && !is_behind_busy_threads(finding))
    return {purpose_unknown, "habit", meant.ns};
  return {purpose_unknown, "", 0};
}

}  // namespace

bool is_main_loop(const Stack& kernel_stack) {
  const std::vector<std::string> functions = telling_functions(kernel_stack);
  if (functions.size() == 1)
    return functions.front() == "io_wq_worker" || functions.front() == "io_sq_thread";
  return functions.size() == 2 && functions.front() == "kthread";
}

bool holds_up_event_loop(const Finding& finding) {
  return finding.purpose.by == by_loop;
}

WaitPurpose purpose_of(const Finding& finding, WaitHabits& habits) {
  if (finding.span != span_name(SPAN_SYSCALL) && finding.span != span_name(SPAN_OFFCPU))
    return finding.purpose;
  const Meant meant = meant_by(finding);
  if (meant.kind == WaitKind::sleep) habits.add_sleep(finding);
  if (meant.kind == WaitKind::events)
    habits.add_events(finding, finding.result && *finding.result > 0);
  if (meant.kind == WaitKind::sleep) return purpose_of_sleep(finding, meant, habits);
  if (meant.kind == WaitKind::none || meant.ns == 0) return {};
  if (meant.is_main_loop) return {purpose_work, "its main function", meant.ns};
  if (meant.kind == WaitKind::input &&
      (is_below_event_loop(finding) || habits.holds_up_loop(finding)))
    return {purpose_unknown, std::string(by_loop), 0};
  if (const Decision said = by_stack(finding, meant.kind); said.row)
    return decided(said, finding, meant);
  if (const auto said = by_connection(finding, meant)) return *said;
  const bool timeout = timed_out(finding, meant);
  if (timeout && is_for_no_descriptor(finding))
    return {purpose_time, "its request", asked_ns(finding, meant, true)};
  if (timeout) return {purpose_unknown, "timed out", 0};
  if (is_in_main_function(finding)) return {purpose_work, "its main function", meant.ns};
  return undecided(finding, meant, habits);
}

}  // namespace overdue
