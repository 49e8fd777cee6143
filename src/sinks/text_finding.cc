#include "sinks/text_finding.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "sinks/finding_words.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::string_view bold = "\033[1m", end_bold = "\033[0m";

constexpr std::string_view end_color = "\033[0m";

/// A color for each kind of part. Red is for errors, and no part is an error.
std::string_view color_of(std::string_view part) {
  if (part == "on CPU") return "\033[32m";
  if (part == "blocked") return "\033[33m";
  if (part == "run queue" || part == "preempted") return "\033[35m";
  if (part == "throttled") return "\033[34m";
  return part == "unknown" ? "\033[2m" : "\033[36m";
}

/// Whether an argument is an address in the program, or NULL. Addresses say nothing to a reader.
bool is_address(std::string_view argument) {
  constexpr std::size_t digits_of_addresses = 7;
  const std::string_view value = argument.substr(argument.find('=') + 1);
  return value == "NULL" || (value.starts_with("0x") && value.size() >= 2 + digits_of_addresses);
}

/// The arguments, without addresses unless `all`: "fd=3, count=5, …".
std::string arguments_text(const std::vector<std::string>& arguments, bool all) {
  std::vector<std::string_view> shown;
  for (const std::string& argument : arguments)
    if (all || !is_address(argument)) shown.push_back(argument);
  if (shown.size() < arguments.size()) shown.push_back(ellipsis);
  return fmt::format("{}", fmt::join(shown, ", "));
}

class Writer {
 public:
  Writer(const Finding& finding, const SessionInfo& info, const FindingTextOptions& options)
      : finding_(finding), info_(info), options_(options) {}

  std::string text() {
    headline();
    present();
    purpose();
    if (finding_.breakdown)
      parts(*finding_.breakdown);
    else
      waits(0);
    kernel_stack();
    user_stack();
    if (finding_.waits_forgotten) line("(waits of its beginning were not kept)");
    return std::move(text_);
  }

 private:
  void line(std::string_view content) { text_ += fmt::format("  {}\n", content); }
  void part(std::string_view label, std::uint64_t ns, std::string_view why = {}) {
    const std::string_view color = options_.color ? color_of(label) : std::string_view();
    line(fmt::format("{}{:<11}{}{:>8}{}{}", color, label, color.empty() ? "" : end_color,
                     duration_text(ns), why.empty() ? "" : "  ", why));
  }

  void headline();
  /// The signal handler that ran; the number of the earlier hang; the state of an open call.
  void present();
  /// The part of the latency that is no delay.
  void purpose();
  void parts(const Breakdown& parts);
  void waits(std::uint64_t all_ns);
  void one_place(const WaitPlace& place);
  std::string why_blocked(const Wait& wait, std::string_view which) const;
  std::string step(std::size_t number) const;
  void chain();
  void kernel_stack();
  void user_stack();
  void frames(const Stack& stack, unsigned indent);
  /// Threads that had the CPU while the thread was preempted, or else in the run queue.
  CpuShares runners(bool preempted) const;
  void where_they_ran(const CpuShares& runners);
  std::string throttlers(std::uint64_t all_ns) const;

  const Finding& finding_;
  const SessionInfo& info_;
  const FindingTextOptions& options_;
  std::string text_;
};

void Writer::headline() {
  const Finding& f = finding_;
  std::string what = printable(f.name);
  if (f.span == "syscall") {
    what += fmt::format("({})", arguments_text(f.arguments, options_.whole_stacks));
    if (f.result) what += fmt::format(" = {}", *f.result);
    if (!f.error.empty()) what += " " + f.error;
    if (f.is_way_back) what += " on its way back to the program";
  } else if (!f.title.empty()) {
    what = f.title;
  } else {
    what = fmt::format("{} {}", f.span, what);
  }
  const bool hangs = f.type == "hang";
  const std::string threshold =
      options_.threshold && f.threshold_ns
          ? fmt::format(" ({} {})", hangs ? "timeout" : "threshold", duration_text(f.threshold_ns))
          : "";
  const std::string_view open = !hangs ? "" : f.is_older ? "open for at least " : "open for ";
  text_ +=
      fmt::format("#{} {}  {}{}{}  {}  {}{}{}\n", f.number, local_time_of_day(info_.wall(f.time)),
                  options_.color ? bold : "", what, options_.color ? end_bold : "",
                  (f.is_bystander ? "interrupting " : "") + thread_text(f.thread), open,
                  duration_text(f.latency_ns), threshold);
}

void Writer::present() {
  const Finding& f = finding_;
  if (f.handler)
    line(fmt::format("{} in the handler of {}", duration_text(f.handler->ns), f.handler->signal));
  if (f.object && f.object->resends > 0)
    line(fmt::format("sent again {} within {}: {} did not acknowledge",
                     f.object->resends == 1 ? "once" : fmt::format("{} times", f.object->resends),
                     duration_text(f.object->resent_ns), printable(f.object->remote)));
  if (f.hang > 0) line(fmt::format("reported as #{} while it was open", f.hang));
  if (f.type != "hang" || f.state.empty()) return;
  if (f.state == "running") return line("still runs, on the CPU");
  const std::uint64_t ns = f.waits.empty() ? 0 : f.waits.back().ns;
  const auto& tracer = f.waits.empty() ? std::nullopt : f.waits.back().tracer;
  line(fmt::format("still {}{}{}, for {} now", f.state == "runqueue" ? "in the run queue" : f.state,
                   f.state == "uninterruptible" ? " (D)" : "",
                   tracer ? " by " + thread_text(*tracer) : "", duration_text(ns)));
}

void Writer::purpose() {
  const WaitPurpose& purpose = finding_.purpose;
  if (purpose.meant_ns == 0) return;
  const std::string late = "late by " + duration_text(finding_.late_ns());
  if (purpose.of == "time") return line(late + "; the rest is the time that was asked for");
  if (purpose.of == "work")
    return line(fmt::format("{}; the rest waited for work ({})", late, printable(purpose.by)));
  line(late + "; the rest may have waited for work");
}

/// The parts, largest first; blocked time by place.
void Writer::parts(const Breakdown& parts) {
  struct Part {
    std::string_view label;
    std::uint64_t ns;
    std::string why;
    CpuShares runners{};
  };
  const std::uint64_t blocked = parts.blocked_ns();
  const CpuShares behind = runners(false), by = runners(true);
  std::vector<Part> all = {
      {"blocked", blocked, ""},
      {"run queue", parts.ns(ShareKind::runqueue),
       shares_text("behind", behind, parts.ns(ShareKind::runqueue)), behind},
      {"preempted", parts.ns(ShareKind::preempted),
       shares_text(by_threads, by, parts.ns(ShareKind::preempted)), by},
      {"throttled", parts.ns(ShareKind::throttled), throttlers(parts.ns(ShareKind::throttled))},
      {"on CPU", parts.ns(ShareKind::oncpu), cpu_places_text(finding_.on_cpu)},
      {"interrupts", parts.ns(ShareKind::irq), ""},
      {"softirqs", parts.ns(ShareKind::softirq), ""},
      {"unknown", parts.unexplained_ns, ""}};
  std::sort(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.ns > b.ns; });
  const std::uint64_t least = finding_.latency_ns / 1000;
  for (const Part& one : all) {
    if (one.ns == 0 || (one.ns < least && one.ns < 1000)) continue;
    if (one.label == "blocked")
      waits(blocked);
    else
      part(one.label, one.ns, one.why);
    where_they_ran(one.runners);
  }
}

/// "fsync_range → submit_bio_wait (D), woken by …", with `which` before "woken by". Unknown parts
/// are left out.
std::string Writer::why_blocked(const Wait& wait, std::string_view which) const {
  std::vector<std::string> said;
  if (std::string path = kernel_path(wait.kernel_stack); !path.empty())
    said.push_back(std::move(path));
  if (wait.state == "uninterruptible") said.emplace_back("(D)");
  std::string why = fmt::format("{}", fmt::join(said, " "));
  if (!wait.means.empty()) why += (why.empty() ? "" : ", ") + stop_text(wait);
  if (!wait.waker || wait.waker->context == "unknown") return why;
  if (!why.empty()) why += ", ";
  const Waker& waker = *wait.waker;
  if (waker.means == of_timeout) return why + "its timeout expired";
  return fmt::format("{}{}woken by ", why, which) +
         (waker.is_thread ? thread_text(waker.thread)
                          : interrupt_text(waker.means, waker.disk, waker.context));
}

/// Only recorded waits have a waker. The longest one represents all waits in its place.
void Writer::one_place(const WaitPlace& place) {
  const Wait& longest = finding_.waits[place.longest];
  std::string why = why_blocked(longest, place.count > 1 ? "the longest was " : "");
  // The longest wait may have time in the run queue, which is not blocked.
  if (place.count > 1)
    why = fmt::format("{} times, {} at most: {}", grouped(place.count),
                      duration_text(std::min(place.longest_ns, longest.blocked_ns())), why);
  part("blocked", place.blocked_ns, why);
  if (!options_.whole_stacks) return;
  frames(place.kernel_stack, 4);
  if (!longest.waker || longest.waker->stack.empty()) return;
  line("  woken from");
  frames(longest.waker->stack, 6);
}

/// `all_ns`: blocked time in all waits, recorded or not.
void Writer::waits(std::uint64_t all_ns) {
  constexpr std::size_t most = 3;
  // The other side had received nothing: what it did is no reason.
  const bool was_resent = finding_.object && finding_.object->was_resent_in(finding_.latency_ns);
  std::uint64_t shown_ns = 0, rest = 0;
  for (std::size_t i = 0; i < finding_.places.size(); ++i) {
    const WaitPlace& place = finding_.places[i];
    if (place.blocked_ns == 0) break;
    if (i >= most) {
      rest += place.count;
      continue;
    }
    shown_ns += place.blocked_ns;
    one_place(place);
    if (i == 0 && place.blocked_ns >= finding_.latency_ns / 10 && !was_resent) chain();
  }
  if (all_ns <= shown_ns || all_ns - shown_ns < finding_.latency_ns / 100) return;
  part("blocked", all_ns - shown_ns,
       rest > 0
           ? fmt::format("in {} more wait{}, and shorter ones", grouped(rest), rest == 1 ? "" : "s")
           : "in waits without a record");
}

/// The activity of the thread or interrupt of a chain step; empty if "woken by …" says it already.
std::string Writer::step(std::size_t number) const {
  const ChainLink& link = finding_.chain[number];
  const bool only_ended = link.what == "ran" && (!link.ns || link.ns < link.during_ns / 10);
  if (number == 0 && !link.is_cut && (!link.is_thread || only_ended)) return {};
  std::string said;
  if (link.is_thread)
    said =
        only_ended ? thread_text(link.thread) + " ended that" + other_parts(link) : link_text(link);
  else if (link.means == of_timeout)
    said = "its timeout expired";
  else
    said = interrupt_text(link.means, link.disk, link.what) + " ended that";
  return link.is_cut ? said + ", and so on (cut)" : said;
}

void Writer::chain() {
  for (std::size_t i = 0; i < finding_.chain.size(); ++i) {
    const ChainLink& link = finding_.chain[i];
    const std::size_t depth = 4 + 2 * i;
    const std::string said = step(i);
    const bool is_of_longest = i == 0 && finding_.places.front().count > 1;
    if (!said.empty())
      text_ +=
          fmt::format("{:{}}└ {}{}\n", "", depth, is_of_longest ? "of the longest: " : "", said);
    if (!link.user_stack.empty() || link.waking_stack.empty()) continue;
    text_ +=
        fmt::format("{:{}}{} woke it from {}\n", "", depth + 2,
                    said.empty() ? thread_text(link.thread) : "and", user_path(link.waking_stack));
  }
}

CpuShares Writer::runners(bool preempted) const {
  CpuShares all;
  for (const Wait& wait : finding_.waits)
    if ((wait.state == "preempted") == preempted && (preempted || wait.runqueue_ns > 0))
      all.add(wait.ran);
  return all;
}

void Writer::where_they_ran(const CpuShares& runners) {
  for (const CpuShare& share : runners.threads)
    if (const std::string where = cpu_places_text(share.on_cpu); !where.empty())
      line(fmt::format("  └ {} ran {}", thread_text(share.thread), where));
}

/// The limits that held the thread back, largest time first; without a time if one did nearly all.
std::string Writer::throttlers(std::uint64_t all_ns) const {
  std::map<std::string, std::uint64_t> ns_by_limit;
  for (const Wait& wait : finding_.waits)
    if (wait.throttled_ns > 0) ns_by_limit[throttle_text(wait.throttle)] += wait.throttled_ns;
  std::vector<std::pair<std::uint64_t, std::string>> limits;
  for (const auto& [limit, ns] : ns_by_limit) limits.emplace_back(ns, limit);
  std::sort(limits.begin(), limits.end(), std::greater());
  std::vector<std::string> said;
  for (const auto& [ns, limit] : limits)
    said.push_back(ns >= all_ns - all_ns / 20 ? limit
                                              : fmt::format("{} {}", limit, duration_text(ns)));
  return fmt::format("{}", fmt::join(said, ", "));
}

void Writer::frames(const Stack& stack, unsigned indent) {
  for (const StackFrame& frame : stack) {
    if (frame.follows_gap)
      text_ += fmt::format("{:{}}{} (functions may be missing here)\n", "", indent + 2, ellipsis);
    text_ += fmt::format("{:{}}{}", "", indent + 2, to_text(frame));
    if (!frame.name.empty() && frame.offset > 0) text_ += fmt::format("+{:#x}", frame.offset);
    if (!frame.name.empty() && !frame.module.empty() && frame.module != "[kernel]")
      text_ += fmt::format(" ({})", frame.module);
    if (frame.line > 0) text_ += fmt::format(" {}:{}", frame.file, frame.line);
    text_ += frame.is_inlined ? " (inlined)\n" : "\n";
  }
}

/// The kernel stack at the end of a span, if recorded; of an interrupt, the interrupted code.
void Writer::kernel_stack() {
  if (finding_.kernel_stack.empty()) return;
  if (finding_.type == "hang" && !finding_.waits.empty()) return;  // same as the last wait's
  line(fmt::format("in kernel   {}",
                   options_.whole_stacks ? "" : kernel_path(finding_.kernel_stack)));
  if (options_.whole_stacks) frames(finding_.kernel_stack, 4);
}

void Writer::user_stack() {
  if (!finding_.user_stack || finding_.user_stack->empty()) return;
  std::string said = options_.whole_stacks ? "" : user_path(*finding_.user_stack);
  if (!finding_.user_stack_end.empty()) said += fmt::format(" ({})", finding_.user_stack_end);
  line(fmt::format("called from  {}", said));
  if (options_.whole_stacks) frames(*finding_.user_stack, 4);
}

}  // namespace

std::string finding_text(const Finding& finding, const SessionInfo& info,
                         const FindingTextOptions& options) {
  return Writer(finding, info, options).text();
}

}  // namespace overdue
