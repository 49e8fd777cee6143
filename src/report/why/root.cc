#include "report/why/root.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/wait_functions.h"
#include "analysis/wait_purpose.h"
#include "analysis/waker_words.h"
#include "base/text.h"
#include "core/span_kinds.h"
#include "report/why/holder.h"
#include "report/why/kernel_side.h"
#include "report/why/known_waits.h"
#include "report/why/unnamed_code.h"
#include "sinks/finding_words.h"

namespace overdue {
namespace {

bool is_own(const StackFrame& frame) {
  const std::string_view name = without_parameters(frame.name);
  return !frame.name.empty() && !is_of_c_library(frame) && !is_of_python(frame) &&
         !is_wait_wrapper(name) && !is_thread_start(name) && !frame.is_kernel &&
         frame.module != "[vdso]";
}

std::string in_place(const std::string& place) {
  return place.empty() ? "" : " in " + place;
}

/// Where the thread of a link waited, or ran: its late call, its samples, or its wake-up of the
/// next thread.
std::string place_of(const ChainLink& link, bool ran) {
  if (ran) {
    if (!link.on_cpu.places.empty())
      if (std::string place = own_place(link.on_cpu.places.front().stack); !place.empty())
        return place;
    return own_place(link.waking_stack);
  }
  if (std::string place = own_place(link.user_stack); !place.empty()) return place;
  if (link.what == "waited" && !link.kernel_stack.empty()) return kernel_path(link.kernel_stack);
  return own_place(link.waking_stack);
}

/// Whether a wait was ended by the completion of requests of a disk. A request may have parts, of
/// which only the last one's completion has the disk's name.
bool is_of_disk(std::string_view means, std::string_view what) {
  return means == disk_completion || what.find("BLOCK") != what.npos;
}

/// The file that a call writes, or whose writes a call waits for; empty: none, or not known.
std::string_view written_file(const Finding& finding) {
  constexpr std::string_view calls[] = {"write",     "writev",    "pwrite64",  "pwritev",
                                        "pwritev2",  "fsync",     "fdatasync", "sync_file_range",
                                        "ftruncate", "fallocate", "msync"};
  const bool writes = finding.span == span_name(SPAN_SYSCALL) &&
                      std::ranges::find(calls, finding.name) != std::end(calls);
  return writes && finding.object && finding.object->kind == "file" ? finding.object->text
                                                                    : std::string_view();
}

/// All waits for a disk that the program began in one place are one cause, also those of threads
/// that wait for such a thread. So are all waits to write one file: threads that write the file
/// wait for its locks, its journal and its blocks in turn.
std::string disk_key(const Finding& finding, const std::string& place) {
  const std::string_view file = written_file(finding);
  return file.empty() ? "disk|" + place : fmt::format("disk of file|{}", file);
}

/// Time in the finding's waits of which one in the same place is such a wait.
template <typename IsWanted>
std::uint64_t blocked_where(const Finding& finding, IsWanted is_wanted) {
  std::uint64_t ns = 0;
  for (const WaitPlace& place : finding.places)
    if (place.longest < finding.waits.size() && is_wanted(finding.waits[place.longest]))
      ns += place.blocked_ns;
  return ns;
}

/// TCP delays an acknowledgement for so long if nothing is to be sent meanwhile, and the other side
/// may hold back its next packet until then (Nagle's algorithm).
std::string acknowledgement_text(std::uint64_t waited_ns) {
  constexpr std::uint64_t shortest_ns = 39'000'000, longest_ns = 48'000'000;
  if (waited_ns < shortest_ns || waited_ns > longest_ns) return {};
  return " for 40 ms, as long as TCP delays an acknowledgement";
}

/// The activity of the holder. A link that waited for the next one is a holder for what it did
/// beside this wait.
std::string activity_of(const Holder& holder) {
  const ChainLink& link = *holder.link;
  if (holder.is_at_safepoint) return std::string(kept_at_safepoint);
  const bool ran =
      link.what == "ran" || (holder.waited_for_next && ran_ns(link) * 2 > active_ns(link));
  const std::string place = in_place(place_of(link, ran));
  if (ran) return "ran" + place;
  if (link.what == "preempted" || holder.waited_for_next) {
    if (link.what != "preempted") return "waited for a CPU";
    const std::string by = shares_text(by_threads, link.ran, link.ns);
    return "was preempted" + (by.empty() ? "" : " " + by);
  }
  if (link.what == "throttled") return "was throttled " + throttle_text(link.throttle);
  if (link.what != "waited") return "could run and did not";
  const ChainLink* end = holder.end;
  if (end && end->means == of_timeout) return "slept" + place;
  if (end && is_of_disk(end->means, end->what))
    return fmt::format("waited for disk{}{}{}", end->disk.empty() ? "" : " ", printable(end->disk),
                       place);
  if (end && end->what.find("NET_RX") != std::string::npos)
    return "waited for the network" + place + acknowledgement_text(link.ns);
  return "waited" + place;
}

/// What the call was given: "/tmp/x", "127.0.0.1:80", "fd 3"; empty: nothing is known.
std::string object_of(const Finding& finding) {
  if (finding.object && !finding.object->remote.empty()) return finding.object->remote;
  if (finding.object && finding.object->text.starts_with("pipe ")) return "pipe";
  if (finding.object) return finding.object->text;
  constexpr std::array<std::string_view, 5> names = {
      "fd=", "fildes=", "sockfd=", "pathname=", "filename="};
  for (const std::string& argument : finding.arguments)
    for (const std::string_view name : names)
      if (argument.starts_with(name)) {
        const std::string value = argument.substr(name.size());
        return value.find_first_of("</\"") == value.npos ? "fd " + value : value;
      }
  return {};
}

/// What a thread was in the kernel for, with a wait that no call of its own has.
std::string wait_outside_calls(const Wait& wait) {
  switch (kernel_side_of(wait.kernel_stack)) {
    case KernelSide::page_fault:
      return "page fault";
    case KernelSide::before_call:
      return "begin of a system call";
    case KernelSide::io_uring:
      return "request of io_uring";
    case KernelSide::call:
    case KernelSide::unknown:
      break;
  }
  return "wait";
}

/// The operation and where the program began it: "fsync(/tmp/x) in flush ← main".
std::string operation_of(const Finding& finding) {
  const std::string place = finding.user_stack ? own_place(*finding.user_stack) : "";
  const Wait* wait = finding.longest_wait();
  if (const std::string_view known = wait ? known_kernel_wait(*wait) : ""; !known.empty()) {
    const std::string object = object_of(finding);
    return fmt::format("{}: {}{}{}", known,
                       finding.span == span_name(SPAN_SYSCALL) ? printable(finding.name)
                                                               : wait_outside_calls(*wait),
                       object.empty() ? "" : fmt::format("({})", printable(object)),
                       in_place(place));
  }
  if (finding.span != span_name(SPAN_SYSCALL)) {
    if (finding.span == span_name(SPAN_OFFCPU))
      return (wait ? wait_outside_calls(*wait) : "wait") + in_place(place);
    return (finding.title.empty() ? printable(finding.name) : finding.title) + in_place(place);
  }
  const std::string object = object_of(finding);
  return fmt::format("{}{}{}", printable(finding.name),
                     object.empty() ? "" : fmt::format("({})", printable(object)), in_place(place));
}

/// The same without descriptors, whose numbers differ from call to call. A write to a pipe and one
/// to a terminal wait for different things.
std::string operation_key(const Finding& finding) {
  const Wait* wait = finding.longest_wait();
  return fmt::format("{}|{}|{}|{}", finding.span, finding.name,
                     finding.user_stack ? own_place(*finding.user_stack) : "",
                     wait ? known_kernel_wait(*wait) : "");
}

/// The root is not known: only where the thread waits.
Root unknown_root(const Finding& finding, const Stack& kernel_stack) {
  const std::string where =
      kernel_stack.empty() ? "" : fmt::format(" ({})", kernel_path(kernel_stack));
  return {.key = operation_key(finding),
          .operation = operation_of(finding) + where,
          .explained_ns = finding.latency_ns};
}

/// The root is no thread: the thread's own timeout, a disk, the network.
Root root_without_thread(const Finding& finding, const Wait& wait) {
  std::string_view means;
  std::string what, disk;
  if (!finding.chain.empty()) {
    means = finding.chain.back().means;
    what = finding.chain.back().what;
    disk = finding.chain.back().disk;
  } else if (wait.waker) {
    means = wait.waker->means;
    what = wait.waker->context;
    disk = wait.waker->disk;
  }
  const std::string operation = operation_of(finding);
  Root root{.key = fmt::format("{}|{}|{}|{}", means, disk, what, operation_key(finding)),
            .operation = {},
            .explained_ns = wait.blocked_ns()};
  if (is_of_disk(means, what)) {
    root.by = disk.empty() ? "disk" : "disk " + printable(disk);
    root.operation = root.by + ": " + operation;
    const std::string place = finding.user_stack ? own_place(*finding.user_stack) : "";
    root.key = disk_key(finding, place.empty() ? finding.name : place);
    const auto is_for_disk = [](const Wait& one) {
      return one.waker && is_of_disk(one.waker->means, one.waker->context);
    };
    root.explained_ns = std::max(root.explained_ns, blocked_where(finding, is_for_disk));
  } else if (means == of_timeout) {
    root.operation = operation + ": its timeout expired";
  } else if (what.find("NET_RX") != what.npos) {
    root.by = "network";
    root.operation = "network: " + operation;
  } else if (what.empty() || what == "unknown" || what == "thread") {
    root.operation = fmt::format("{} ({})", operation, kernel_path(wait.kernel_stack));
  } else {
    root.by = printable(what);
    root.operation = fmt::format("{}, ended by {}", operation, printable(what));
  }
  return root;
}

}  // namespace

std::vector<const StackFrame*> own_frames(const Stack& stack, std::size_t at_most) {
  const auto innermost = [&](bool with_glue) {
    std::vector<const StackFrame*> own;
    for (const StackFrame& frame : stack) {
      const bool is_of_runtime = is_glue(without_parameters(frame.name)) || is_of_jvm(frame);
      if (!is_own(frame) || (!with_glue && is_of_runtime)) continue;
      if (!own.empty() && to_text(*own.back()) == to_text(frame)) continue;
      own.push_back(&frame);
      if (own.size() == at_most) break;
    }
    return own;
  };
  std::vector<const StackFrame*> own = innermost(false);
  return own.empty() ? innermost(true) : own;
}

std::string place_text(const std::vector<const StackFrame*>& own) {
  if (own.empty()) return {};
  return to_text(*own[0]) + (own.size() == 1 ? "" : " ← " + to_text(*own[1]));
}

std::string own_place(const Stack& stack) {
  return place_text(own_frames(stack, 2));
}

namespace {

Root root_in_chain(const Finding& finding) {
  const Wait* wait = finding.longest_wait();
  if (is_stopped_at_present(finding)) {
    const Wait* stop = finding.waits.empty() ? nullptr : &finding.waits.back();
    const std::string by = stop && stop->tracer ? thread_text(*stop->tracer) : "";
    const std::string text =
        fmt::format("{}{}{}, and not continued", stop_meaning(finding.kernel_stack, {}),
                    by.empty() ? "" : " by ", by);
    return {.key = text, .operation = text, .by = by, .explained_ns = finding.latency_ns};
  }
  if (!wait) return unknown_root(finding, finding.kernel_stack);
  if (!wait->means.empty()) {
    std::string stop = stop_text(*wait);
    std::string by;
    if (wait->tracer) {
      by = thread_text(*wait->tracer);
    } else if (wait->means == stopped_by_tracer && wait->waker && wait->waker->is_thread) {
      by = thread_text(wait->waker->thread);
      stop += ", " + by;
    }
    return {.key = stop, .operation = stop, .by = by, .explained_ns = wait->blocked_ns()};
  }
  if (wait->waker && is_interrupted(wait->kernel_stack, wait->waker->stack))
    return unknown_root(finding, wait->kernel_stack);
  const Holder holder = holder_in(finding.chain);
  if (!holder.link) return root_without_thread(finding, *wait);
  // A thread of the kernel's that waits for a disk does so for its clients.
  if (holder.end && is_of_disk(holder.end->means, holder.end->what) &&
      holder.link->what == "waited" && is_kernel_thread(holder.link->kernel_stack))
    return root_without_thread(finding, *wait);
  const ThreadName& thread = holder.link->thread;
  // A thread of the kernel's that had nothing to do delayed no client.
  if (holder.link->what == "waited" && is_main_loop(holder.link->kernel_stack)) {
    const std::string by = without_numbers(thread.comm);
    return {.key = fmt::format("{}|{}", by, operation_key(finding)),
            .operation = fmt::format("{}, ended by {}", operation_of(finding), printable(by)),
            .by = by,
            .explained_ns = finding.latency_ns};
  }
  Root root{.operation = operation_of(finding),
            .thread = thread,
            .activity = activity_of(holder),
            .explained_ns = std::min(holder.ns, finding.latency_ns),
            .ran_ns = std::min(holder.ran_ns, finding.latency_ns)};
  root.may_be_idle = wait_kind_of_call(finding.name) == WaitKind::condition &&
                     (root.activity.starts_with("slept") || root.activity.starts_with("waited in"));
  root.key = fmt::format("{}|{}", without_numbers(thread.comm),
                         root.activity.substr(0, root.activity.find(" by ")));
  if (holder.end && is_of_disk(holder.end->means, holder.end->what) &&
      !root.activity.starts_with("ran"))
    root.key = disk_key(finding, place_of(*holder.link, false));
  return root;
}

/// Whatever ended the wait, and whatever the other end did meanwhile: nothing had reached it.
Root root_of_resends(const Finding& finding, const CallObject& object) {
  return {.key = "resent|" + object.remote,
          .operation = fmt::format("network: {} did not acknowledge, data was sent again: {}",
                                   printable(object.remote), operation_of(finding)),
          .by = "network",
          .explained_ns = std::min(object.resent_ns, finding.latency_ns)};
}

/// A thread whose cgroup has all the memory that it may have waits for its own limit, whatever ends
/// the wait.
void blame_limit(const Finding& finding, Root& root) {
  root.operation = operation_of(finding);
  root.key = fmt::format("{}|{}", cgroup_reclaim, finding.thread.pid);
  root.thread.reset();
  root.activity.clear();
  root.ran_ns = 0;
  root.explained_ns = blocked_where(
      finding, [](const Wait& wait) { return known_kernel_wait(wait) == cgroup_reclaim; });
}

}  // namespace

bool is_answer_span(std::string_view span) {
  return span == span_name(SPAN_TCP_ANSWER) || span == span_name(SPAN_UNIX_ANSWER);
}

bool is_answer(const Finding& finding) {
  return is_answer_span(finding.span);
}

bool was_resent(const Finding& finding) {
  return finding.object && finding.object->was_resent_in(finding.late_ns());
}

std::string cause_text(const Root& root, const std::string& name) {
  if (!root.thread) return root.operation;
  return fmt::format("{} behind {}, which {}", root.operation, name, root.activity);
}

Root root_of(const Finding& finding) {
  Root root = finding.object && was_resent(finding) ? root_of_resends(finding, *finding.object)
                                                    : root_in_chain(finding);
  const Wait* wait = finding.longest_wait();
  if (wait && known_kernel_wait(*wait) == cgroup_reclaim) blame_limit(finding, root);
  // What the other end did is known of some answers only.
  if (is_answer(finding) && !was_resent(finding)) root.key = "answer|" + finding.name;
  if (holds_up_event_loop(finding)) {
    root.operation = "the event loop waits for " + root.operation;
    root.key += "|loop";
  }
  const KnownLock* lock = finding.user_stack ? known_lock_in(*finding.user_stack) : nullptr;
  if (!lock) return root;
  root.may_be_idle = root.may_be_idle && !lock->is_only_lock;
  // The VM thread sleeps for nothing else.
  if (lock->name == jvm_safepoint &&
      (root.activity.starts_with("slept") || root.activity.find("nanosleep") != std::string::npos))
    root.activity = to_safepoint;
  constexpr std::string_view ran = "ran";
  if (lock->name == jvm_safepoint && root.activity.starts_with(ran) &&
      has_collected_garbage(holder_in(finding.chain)))
    root.activity.replace(0, ran.size(), "collected garbage");
  if (lock->is_one) {
    root.is_one_lock = true;
    root.operation = lock->name;  // where each thread waits for it does not matter
    root.key = fmt::format("{}|{}", lock->name, finding.thread.pid);
    root.explained_ns = finding.latency_ns;
  } else if (!lock->name.empty()) {
    root.operation = fmt::format("{}: {}", lock->name, root.operation);
  }
  return root;
}

bool is_stopped_at_present(const Finding& finding) {
  return finding.type == "hang" && !stop_meaning(finding.kernel_stack, {}).empty();
}

bool waits_for_lock(const Finding& finding) {
  const KnownLock* lock = finding.user_stack ? known_lock_in(*finding.user_stack) : nullptr;
  return lock && lock->is_only_lock;
}

bool waits_for_any_lock(const Finding& finding) {
  const Wait* wait = finding.longest_wait();
  return waits_for_lock(finding) || (wait && is_kernel_lock(known_kernel_wait(*wait)));
}

}  // namespace overdue
