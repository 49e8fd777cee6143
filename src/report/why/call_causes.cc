#include "report/why/call_causes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/why/call_sums.h"
#include "report/why/next_command.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::uint64_t checks_per_second = 1;  // by programs: what is slower may only look on
constexpr std::uint64_t retries_per_second = 10, least_retries = 5;

/// The error of a connect to a unix socket that does not exist.
constexpr std::string_view no_socket = "ENOENT";
using ErrnoCount = std::pair<std::string, std::uint64_t>;

/// Whether a call with this error is meant to be made again.
bool asks_again(std::string_view error) {
  return error == "EAGAIN" || error == "EWOULDBLOCK" || error == "EBUSY" || error == "EDEADLK" ||
         error == "ECONNREFUSED" || error == "ETXTBSY" || error == "EADDRINUSE" ||
         error == "EADDRNOTAVAIL";
}

/// Whether an error says what a file or a kernel is, which no sleep changes: a program that opens a
/// file asks whether it is a terminal (ENOTTY).
bool is_answer_for_good(std::string_view error) {
  constexpr std::string_view errors[] = {"ENOTTY",     "ESPIPE",      "ENODATA", "EINVAL", "ENOSYS",
                                         "EOPNOTSUPP", "ENOPROTOOPT", "ERANGE",  "EFAULT"};
  return std::ranges::find(errors, error) != std::end(errors);
}

std::string_view most_frequent_error(const LatencyRow& row) {
  return row.errnos.empty() ? std::string_view() : row.errnos.front().first;
}

/// The time of all calls of the row, at most as if all took as long as most do: another thread of
/// the process may sleep longer, and not between attempts.
std::uint64_t usual_ns(const LatencyRow& row) {
  return std::min(row.latency.total_ns(), row.latency.count() * row.latency.quantile_ns(0.5));
}

/// Whether one thread can have made the sleeps of a row in turn, the longer ones being later steps
/// of a back-off.
bool is_of_one_thread(const LatencyRow& row, const SessionInfo& info) {
  constexpr std::uint64_t steps = 16;
  return row.latency.total_ns() <= static_cast<std::uint64_t>(info.duration.count()) &&
         row.latency.max_ns() <= steps * row.latency.quantile_ns(0.5);
}

bool is_fork(std::string_view call) {
  return call.starts_with("clone") || call.ends_with("fork");
}

/// Whether a process gets no new process or thread: a limit is reached.
bool is_failed_fork(const LatencyRow& row) {
  return is_fork(row.name) && !row.errnos.empty() && row.errnos.front().first == "EAGAIN";
}

/// Whether nearly all connects of a row fail with this error: the server cannot be reached, or its
/// unix socket is missing. (The C library's connects that find out which addresses are reachable
/// fail too, for one of them.)
bool is_unreachable(const LatencyRow& row, std::string_view error) {
  constexpr std::string_view errors[] = {"EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", no_socket};
  if (row.name != "connect" || std::ranges::find(errors, error) == std::end(errors)) return false;
  const auto same = std::ranges::find(row.errnos, error, &ErrnoCount::first);
  return same != row.errnos.end() && same->second >= row.latency.count() / 10 * 9;
}

/// Whether a call has a part in an attempt to connect to a unix socket, or in the way to the next
/// attempt.
bool is_of_attempt(std::string_view call) {
  constexpr std::string_view calls[] = {
      "socket",     "connect",    "close",        "fcntl",         "ioctl",         "getsockopt",
      "setsockopt", "newfstatat", "stat",         "access",        "faccessat2",    "futex",
      "write",      "getpid",     "gettimeofday", "time",          "clock_gettime", "rt_sigaction",
      "brk",        "mmap",       "munmap",       "rt_sigprocmask"};
  return is_sleep(call) || std::ranges::find(calls, call) != std::end(calls);
}

std::string error_text(std::string_view call, std::string_view error) {
  if (call == "connect" && error == no_socket) return "ENOENT: the unix socket is missing";
  return std::string(error);
}

/// Whether a program that fails for this reason is usually started again until it succeeds: what it
/// needs is not there yet, or taken.
bool is_reason_to_wait(std::string_view call, std::string_view error) {
  const bool is_lock = call == "flock" || call == "fcntl";
  return (call == "connect" && error == "ECONNREFUSED") || (is_lock && asks_again(error));
}

/// Processes of one name that fail in one way.
struct Failures {
  std::string comm{};
  std::string what{};  ///< "connect failed 48 times (ECONNREFUSED)"
  std::string_view call{};
  std::uint64_t processes = 0;
};

/// Processes whose calls fail since what they need is not there yet.
std::vector<Failures> failed_calls(const LatencyTable& calls) {
  struct Sum {
    std::string_view call{};
    std::uint64_t count = 0;
    std::set<std::uint32_t> pids{};
  };
  std::map<std::array<std::string, 3>, Sum> sums;
  for (const LatencyRow& row : calls.rows)
    for (const auto& [error, count] : row.errnos) {
      if (!row.process || !is_reason_to_wait(row.name, error)) continue;
      Sum& sum = sums[{row.process->comm, row.name, error}];
      sum.call = row.name;
      sum.count += count;
      sum.pids.insert(row.process->pid);
    }
  std::vector<Failures> all;
  for (const auto& [key, sum] : sums)
    all.push_back({.comm = key[0],
                   .what = fmt::format("{} failed {} times ({})", printable(key[1]),
                                       grouped(sum.count), key[2]),
                   .call = sum.call,
                   .processes = sum.pids.size()});
  return all;
}

/// Programs of one name that nearly all end with an exit status that is not 0.
std::vector<Failures> failed_programs(const LatencyTable& calls) {
  struct Sum {
    std::uint64_t failed = 0, all = 0;
  };
  std::map<std::string, Sum> sums;
  for (const LatencyRow& row : calls.rows) {
    if (!row.process || row.name != "exit_group") continue;
    Sum& sum = sums[row.process->comm];
    sum.failed += row.failed;
    sum.all += row.unreturned;
  }
  std::vector<Failures> all;
  for (const auto& [comm, sum] : sums)
    if (sum.failed >= sum.all / 10 * 9 && sum.failed > 0)
      all.push_back({.comm = comm,
                     .what = "each ended with an exit status that is not 0",
                     .call = "exit_group",
                     .processes = sum.failed});
  std::ranges::sort(all, std::ranges::greater(), &Failures::processes);
  return all;
}

struct Sleeps {
  std::uint64_t count = 0, ns = 0;
};

/// The sleeps between programs: of `sleep`, as a script has them, or of a process that starts
/// programs.
std::vector<Sleeps> sleeps_between(const LatencyTable& calls) {
  struct Process {
    Sleeps sleeps{};
    std::uint64_t forks = 0;
  };
  Sleeps of_scripts;
  std::map<std::uint32_t, Process> processes;
  for (const LatencyRow& row : calls.rows) {
    if (!row.process) continue;
    Process& process = processes[row.process->pid];
    if (is_fork(row.name)) process.forks += row.latency.count();
    if (!is_sleep(row.name)) continue;
    Sleeps& sleeps = row.process->comm == "sleep" ? of_scripts : process.sleeps;
    sleeps.count += row.latency.count();
    sleeps.ns += row.latency.total_ns();
  }
  std::vector<Sleeps> all = {of_scripts};
  for (const auto& [pid, process] : processes)
    if (process.sleeps.count > 0 && process.forks >= process.sleeps.count / 2)
      all.push_back(process.sleeps);
  return all;
}

/// Programs of one name that a script or a supervisor starts again and again, with a sleep between:
/// the processes are many, and each fails once.
std::vector<CallCause> retries_of_scripts(const LatencyTable& calls, const SessionInfo& info) {
  std::vector<CallCause> causes;
  const std::vector<Sleeps> sleeps = sleeps_between(calls);
  const auto add = [&](const Failures& failed) {
    const auto between = std::ranges::find_if(sleeps, [&](const Sleeps& one) {
      return one.count >= failed.processes / 2 && one.count <= 2 * failed.processes;
    });
    if (failed.processes < least_retries || between == sleeps.end()) return;
    causes.push_back(
        {.cause = {
             .cause = fmt::format("retries: {} processes {}, {}, and a sleep of {} after each",
                                  failed.processes, printable(failed.comm), failed.what,
                                  duration_text(between->ns / between->count)),
             .kind = why_retry,
             .count = failed.processes,
             .total_ns = between->ns,
             .who = {{.name = failed.comm, .count = failed.processes, .ns = between->ns}},
             .next = next_command(why_retry, failed.call, 0, info)}});
  };
  for (const Failures& failed : failed_calls(calls)) add(failed);
  // The status of a program says less than its call; of the programs of a turn, one is the reason.
  if (causes.empty())
    for (const Failures& failed : failed_programs(calls))
      if (causes.empty() && failed.processes >= per_session(checks_per_second, info)) add(failed);
  return causes;
}

}  // namespace

std::vector<CallCause> retries(const LatencyTable& calls, const SessionInfo& info) {
  std::vector<CallCause> causes = retries_of_scripts(calls, info);
  struct Process {
    std::uint64_t sleeps = 0, sleep_ns = 0, usual_sleep_ns = 0;
    const LatencyRow* failing = nullptr;
    std::vector<const LatencyRow*> asked_again{};  ///< with errors that ask for another attempt
    bool cannot_fork = false;
    /// About as many errors as there are sleeps.
    bool is_after_each(const LatencyRow& row) const {
      return row.errors >= sleeps / 2 && row.errors <= 2 * sleeps;
    }
    std::uint64_t other_calls = 0;  ///< that no attempt to connect to a unix socket has
    /// Whether a call that failed with this error is meant to be made again. The C library looks
    /// for sockets of services that need not run, as that of the log: a program that does anything
    /// else between its sleeps may do without.
    bool tries_again(std::string_view error) const {
      if (!is_unreachable(*failing, error)) return asks_again(error);
      return error != no_socket || other_calls < sleeps;
    }
  };
  std::map<std::pair<std::uint32_t, std::string>, Process> processes;
  for (const LatencyRow& row : calls.rows) {
    if (!row.process) continue;
    Process& process = processes[{row.process->pid, row.process->comm}];
    if (!is_of_attempt(row.name)) process.other_calls += row.latency.count();
    if (is_sleep(row.name)) {
      process.sleeps += row.latency.count();
      process.usual_sleep_ns += usual_ns(row);
      process.sleep_ns += is_of_one_thread(row, info) ? row.latency.total_ns() : usual_ns(row);
    } else if (is_failed_fork(row)) {
      process.failing = &row;
      process.cannot_fork = true;
    } else if (row.name != "futex" && !process.cannot_fork &&
               !is_answer_for_good(most_frequent_error(row))) {
      if (!process.failing || process.failing->errors < row.errors) process.failing = &row;
      if (asks_again(most_frequent_error(row))) process.asked_again.push_back(&row);
    }
  }
  for (auto& [key, process] : processes) {
    const auto& [pid, comm] = key;
    // Files that are looked for, and are not there, fail more often than what is tried again.
    if (!process.cannot_fork)
      for (const LatencyRow* row : process.asked_again)
        if (process.is_after_each(*row)) process.failing = row;
    if (!process.failing || process.sleeps < (process.cannot_fork ? 1 : least_retries)) continue;
    const LatencyRow& failing = *process.failing;
    const std::string_view error = most_frequent_error(failing);
    // A call that fails once a turn is no reason for a sleep, unless it asks to be tried again.
    if (!process.tries_again(error) && process.sleeps < per_session(retries_per_second, info))
      continue;
    if (!process.is_after_each(failing)) continue;
    // Where there are about as many sleeps as failures, each is between two attempts.
    const std::uint64_t more =
        std::max(failing.errors, process.sleeps) - std::min(failing.errors, process.sleeps);
    const std::uint64_t sleep_ns =
        more <= 1 + process.sleeps / 10 ? process.sleep_ns : process.usual_sleep_ns;
    causes.push_back(
        {.pid = pid,
         .cause = {.cause = fmt::format(
                       "retries: {} failed {} times ({}), and a sleep of {} after each",
                       printable(failing.name), grouped(failing.errors),
                       error_text(failing.name, error), duration_text(sleep_ns / process.sleeps)),
                   .kind = why_retry,
                   .count = process.sleeps,
                   .total_ns = sleep_ns,
                   .who = {{.name = fmt::format("{}[{}]", printable(comm), pid),
                            .count = process.sleeps,
                            .ns = sleep_ns}},
                   .next = next_command(why_retry, failing.name, 0, info),
                   .lock_wanted_by = failing.name == "flock" || failing.name == "fcntl" ? pid : 0,
                   .shortage = process.cannot_fork ? Shortage::processes
                                                   : shortage_named(shortage_of(failing)),
                   .pid = pid}});
  }
  return causes;
}

std::map<std::uint32_t, Shortage> shortages(const LatencyTable& calls, const SessionInfo& info) {
  std::map<std::uint32_t, Shortage> found;
  for (const auto& causes : {many_calls(calls, info), retries(calls, info)})
    for (const CallCause& one : causes)
      if (one.cause.shortage != Shortage::none) found[one.pid] = one.cause.shortage;
  return found;
}

}  // namespace overdue
