#include "report/why/root.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/wait_functions.h"
#include "analysis/waker_words.h"
#include "base/text.h"
#include "core/span_kinds.h"
#include "flame/stack_filter.h"
#include "sinks/finding_words.h"

namespace overdue {
namespace {

/// The name without parameters, templates' arguments stay: rows of waits have no parameters.
std::string_view without_parameters(std::string_view name) {
  return name.substr(0, name.find('('));
}

bool is_own(const StackFrame& frame) {
  const std::string_view name = without_parameters(frame.name);
  return !frame.name.empty() && !is_of_c_library(frame) && !is_wait_wrapper(name) &&
         !is_thread_start(name) && !frame.is_kernel;
}

/// Locks of runtimes and servers, by the function that waits for them.
struct KnownLock {
  std::string_view function;  ///< a glob
  std::string_view name;
  bool is_one;  ///< the process has one such lock: all waits for it have one cause
};

constexpr KnownLock known_locks[] = {
    {"take_gil", "Python's GIL", true},
    {"SafepointSynchronize::block", "a safepoint of the JVM", true},
    {"SafepointMechanism::process*", "a safepoint of the JVM", true},
    {"VM_*::evaluate*", "an operation of the JVM", true},
    {"ObjectMonitor::enter*", "a Java monitor", false},
    {"ObjectMonitor::EnterI", "a Java monitor", false},
    {"ProcSleep", "a lock of PostgreSQL", false},
    {"WaitOnLock", "a lock of PostgreSQL", false},
    {"LWLockAcquire*", "a lightweight lock of PostgreSQL", false},
    {"__lll_lock_wait_private", "a lock of the C library", false},
    {"gvl_acquire*", "Ruby's GVL", true},
};

/// The lock that the thread with this stack waits for, if its function is known.
const KnownLock* known_lock_in(const Stack& stack) {
  for (const StackFrame& frame : stack)
    for (const KnownLock& lock : known_locks)
      if (is_named(lock.function, without_parameters(frame.name))) return &lock;
  return nullptr;
}

std::string in_place(const std::string& place) {
  return place.empty() ? "" : " in " + place;
}

/// Where the thread of a link was: its late call, its samples, or its wake-up of the next thread.
std::string place_of(const ChainLink& link) {
  if (std::string place = own_place(link.user_stack); !place.empty()) return place;
  if (!link.on_cpu.places.empty())
    if (std::string place = own_place(link.on_cpu.places.front().stack); !place.empty())
      return place;
  if (std::string place = own_place(link.waking_stack); !place.empty()) return place;
  return kernel_path(link.kernel_stack);
}

/// The activity of the root's thread. `end`: the interrupt that ended its wait, or null.
std::string activity_of(const ChainLink& link, const ChainLink* end) {
  const std::string place = in_place(place_of(link));
  if (link.what == "ran") return "ran" + place;
  if (link.what == "preempted") {
    const std::string by = shares_text("by", link.ran, link.ns);
    return "was preempted" + (by.empty() ? "" : " " + by);
  }
  if (link.what == "throttled") return "was throttled " + throttle_text(link.throttle);
  if (link.what != "waited") return "could run and did not";
  if (end && end->means == of_timeout) return "slept" + place;
  if (end && end->means == disk_completion)
    return fmt::format("waited for disk{}{}{}", end->disk.empty() ? "" : " ", printable(end->disk),
                       place);
  if (end && end->what.find("NET_RX") != std::string::npos) return "waited for the network" + place;
  return "waited" + place;
}

/// The descriptor or path that the call was given: "fd=3</tmp/x>"; empty: none is known.
std::string object_of(const Finding& finding) {
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

/// The operation and where the program began it: "fsync(3</tmp/x>) in flush ← main".
std::string operation_of(const Finding& finding) {
  const std::string place = finding.user_stack ? own_place(*finding.user_stack) : "";
  if (finding.span != span_name(SPAN_SYSCALL)) {
    const Wait* wait = finding.longest_wait();
    if (finding.span == span_name(SPAN_OFFCPU))
      return (wait && !is_in_call(wait->kernel_stack) ? "page fault" : "wait") + in_place(place);
    return (finding.title.empty() ? printable(finding.name) : finding.title) + in_place(place);
  }
  const std::string object = object_of(finding);
  return fmt::format("{}{}{}", printable(finding.name),
                     object.empty() ? "" : fmt::format("({})", printable(object)), in_place(place));
}

/// The same without descriptors, whose numbers differ from call to call.
std::string operation_key(const Finding& finding) {
  return fmt::format("{}|{}|{}", finding.span, finding.name,
                     finding.user_stack ? own_place(*finding.user_stack) : "");
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
            .text = {},
            .explained_ns = wait.blocked_ns()};
  if (means == disk_completion)
    root.text = fmt::format("disk{}{}: {}", disk.empty() ? "" : " ", printable(disk), operation);
  else if (means == of_timeout)
    root.text = operation + ": its timeout expired";
  else if (what.find("NET_RX") != what.npos)
    root.text = "network: " + operation;
  else if (what.empty() || what == "unknown" || what == "thread")
    root.text = fmt::format("{} ({})", operation, kernel_path(wait.kernel_stack));
  else
    root.text = fmt::format("{}, ended by {}", operation, printable(what));
  return root;
}

}  // namespace

bool is_in_call(const Stack& kernel_stack) {
  return std::ranges::any_of(kernel_stack, [](const StackFrame& frame) {
    return frame.name.starts_with("do_syscall_") || frame.name.starts_with("do_int80_") ||
           frame.name.starts_with("entry_SYSCALL") || frame.name.starts_with("do_fast_syscall");
  });
}

std::string own_place(const Stack& stack) {
  std::vector<std::string> own;
  for (const StackFrame& frame : stack) {
    if (!is_own(frame)) continue;
    const std::string name = to_text(frame);
    if (!own.empty() && own.back() == name) continue;
    own.push_back(name);
    if (own.size() == 2) break;
  }
  if (own.empty()) return {};
  return own.size() == 1 ? own[0] : own[0] + " ← " + own[1];
}

namespace {

Root root_in_chain(const Finding& finding) {
  const Wait* wait = finding.longest_wait();
  if (!wait) {
    const std::string where =
        finding.kernel_stack.empty() ? "" : fmt::format(" ({})", kernel_path(finding.kernel_stack));
    return {operation_key(finding), operation_of(finding) + where, finding.latency_ns};
  }
  if (!wait->means.empty()) {
    const std::string stop = stop_text(*wait);
    return {stop, stop, wait->blocked_ns()};
  }
  const auto& chain = finding.chain;
  const auto last = std::find_if(chain.rbegin(), chain.rend(),
                                 [](const ChainLink& link) { return link.is_thread; });
  if (last == chain.rend()) return root_without_thread(finding, *wait);
  const ChainLink* end = last == chain.rbegin() ? nullptr : &*std::prev(last);
  const std::string activity = activity_of(*last, end);
  const std::string place = place_of(*last);
  return {fmt::format("{}|{}|{}|{}|{}", last->thread.pid, without_numbers(last->thread.comm),
                      last->what, end ? end->means : "", place),
          fmt::format("{} behind {}, which {}", operation_of(finding), thread_text(last->thread),
                      activity),
          last->ns};
}

}  // namespace

Root root_of(const Finding& finding) {
  Root root = root_in_chain(finding);
  const KnownLock* lock = finding.user_stack ? known_lock_in(*finding.user_stack) : nullptr;
  if (!lock) return root;
  root.text = fmt::format("{}: {}", lock->name, root.text);
  if (lock->is_one) {
    root.key = fmt::format("{}|{}", lock->name, finding.thread.pid);
    root.explained_ns = finding.latency_ns;
  }
  return root;
}

}  // namespace overdue
