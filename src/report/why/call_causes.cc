#include "report/why/call_causes.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "report/why/next_command.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::uint64_t calls_share = 10;  // calls take 1/10 of a CPU
constexpr std::uint64_t short_call_ns = 200'000, calls_per_second = 200;
constexpr std::uint64_t sleeps_per_second =
    2'000;  // a loop that sleeps so often looks for something
constexpr std::uint64_t retries_per_second = 10, least_retries = 5;
constexpr std::uint64_t second_ns = 1'000'000'000;

std::uint64_t duration_of(const SessionInfo& info) {
  return static_cast<std::uint64_t>(info.duration.count());
}

std::uint64_t per_session(std::uint64_t per_second, const SessionInfo& info) {
  return per_second * duration_of(info) / second_ns;
}

bool is_sleep(std::string_view call) {
  return call == "nanosleep" || call == "clock_nanosleep";
}

/// Whether a call with this error is meant to be made again.
bool asks_again(std::string_view error) {
  return error == "EAGAIN" || error == "EWOULDBLOCK" || error == "EBUSY" || error == "EDEADLK" ||
         error == "ECONNREFUSED" || error == "ETXTBSY";
}

/// The error of a call that fails each time, since something is used up: a loop that does not look
/// at the error goes round without an end. Empty: the call succeeds, or fails for another reason.
std::string_view shortage_of(const LatencyRow& row) {
  constexpr std::string_view shortages[] = {"EMFILE", "ENFILE",  "ENOSPC",       "EDQUOT",
                                            "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL"};
  if (row.errnos.empty() || row.errors < row.latency.count() / 10 * 9) return {};
  const std::string_view error = row.errnos.front().first;
  return std::ranges::find(shortages, error) == std::end(shortages) ? "" : error;
}

/// Whether a process gets no new process or thread: a limit is reached.
bool is_failed_fork(const LatencyRow& row) {
  const bool is_fork = row.name.starts_with("clone") || row.name.ends_with("fork");
  return is_fork && !row.errnos.empty() && row.errnos.front().first == "EAGAIN";
}

/// Whether a program that fails for this reason is usually started again until it succeeds: what it
/// needs is not there yet, or taken.
bool is_reason_to_wait(std::string_view call, std::string_view error) {
  const bool is_lock = call == "flock" || call == "fcntl";
  return (call == "connect" && error == "ECONNREFUSED") || (is_lock && asks_again(error));
}

/// Programs of one name that a script starts again and again, with `sleep` between: the processes
/// are many, and each fails once.
std::vector<CallCause> retries_of_scripts(const LatencyTable& calls, const SessionInfo& info) {
  struct Failures {
    std::uint64_t count = 0;
    std::set<std::uint32_t> pids;
  };
  std::map<std::array<std::string, 3>, Failures> all;
  std::uint64_t sleeps = 0, sleep_ns = 0;
  for (const LatencyRow& row : calls.rows) {
    if (!row.process) continue;
    if (row.process->comm == "sleep" && is_sleep(row.name)) {
      sleeps += row.latency.count();
      sleep_ns += row.latency.total_ns();
    }
    for (const auto& [error, count] : row.errnos) {
      if (!is_reason_to_wait(row.name, error)) continue;
      Failures& failures = all[{row.process->comm, row.name, error}];
      failures.count += count;
      failures.pids.insert(row.process->pid);
    }
  }
  std::vector<CallCause> causes;
  for (const auto& [key, failures] : all) {
    const auto& [comm, call, error] = key;
    const std::uint64_t programs = failures.pids.size();
    if (programs < least_retries || sleeps < programs / 2 || sleeps > 2 * programs) continue;
    causes.push_back(
        {.cause = {
             .cause = fmt::format(
                 "retries: {} processes {}, {} failed {} times ({}), and a sleep of {} after each",
                 programs, printable(comm), printable(call), grouped(failures.count), error,
                 duration_text(sleep_ns / sleeps)),
             .kind = why_retry,
             .count = programs,
             .total_ns = sleep_ns,
             .who = {{.name = comm, .count = programs, .ns = sleep_ns}},
             .next = next_command(why_retry, call, 0, info)}});
  }
  return causes;
}

}  // namespace

std::vector<CallCause> many_calls(const LatencyTable& calls, const SessionInfo& info) {
  std::vector<CallCause> causes;
  for (const LatencyRow& row : calls.rows) {
    const std::uint64_t count = row.latency.count(), ns = row.latency.total_ns();
    if (!row.process || count < per_session(calls_per_second, info) || count == 0) continue;
    const std::string_view shortage = shortage_of(row);
    if (ns / count >= short_call_ns) continue;
    if (ns < duration_of(info) / calls_share && shortage.empty()) continue;
    if (is_sleep(row.name) && count < per_session(sleeps_per_second, info)) continue;
    const std::string fails = shortage.empty() ? "" : fmt::format(", and fails: {}", shortage);
    causes.push_back(
        {.pid = row.process->pid,
         .cause = {
             .cause = fmt::format("{} {} times, {} each{}", printable(row.name), grouped(count),
                                  duration_text(ns / count), fails),
             .kind = why_calls,
             .count = count,
             .total_ns = ns,
             .max_ns = row.latency.max_ns(),
             .who = {{.name = fmt::format("{}[{}]", printable(row.process->comm), row.process->pid),
                      .count = count,
                      .ns = ns}},
             .next = next_command(why_calls, row.name, 0, info),
             .pid = row.process->pid}});
  }
  return causes;
}

std::vector<CallCause> retries(const LatencyTable& calls, const SessionInfo& info) {
  std::vector<CallCause> causes = retries_of_scripts(calls, info);
  struct Process {
    std::uint64_t sleeps = 0, sleep_ns = 0;
    const LatencyRow* failing = nullptr;
    bool cannot_fork = false;
  };
  std::map<std::pair<std::uint32_t, std::string>, Process> processes;
  for (const LatencyRow& row : calls.rows) {
    if (!row.process) continue;
    Process& process = processes[{row.process->pid, row.process->comm}];
    if (is_sleep(row.name)) {
      process.sleeps += row.latency.count();
      process.sleep_ns += row.latency.total_ns();
    } else if (is_failed_fork(row)) {
      process.failing = &row;
      process.cannot_fork = true;
    } else if (row.name != "futex" && !process.cannot_fork &&
               (!process.failing || process.failing->errors < row.errors)) {
      process.failing = &row;
    }
  }
  for (const auto& [key, process] : processes) {
    const auto& [pid, comm] = key;
    if (!process.failing || process.sleeps < (process.cannot_fork ? 1 : least_retries)) continue;
    const LatencyRow& failing = *process.failing;
    const std::string error = failing.errnos.empty() ? "" : failing.errnos.front().first;
    // A call that fails once a turn is no reason for a sleep, unless it asks to be tried again.
    if (!asks_again(error) && process.sleeps < per_session(retries_per_second, info)) continue;
    if (failing.errors < process.sleeps / 2 || failing.errors > 2 * process.sleeps) continue;
    causes.push_back(
        {.pid = pid,
         .cause = {
             .cause = fmt::format("retries: {} failed {} times ({}), and a sleep of {} after each",
                                  printable(failing.name), grouped(failing.errors), error,
                                  duration_text(process.sleep_ns / process.sleeps)),
             .kind = why_retry,
             .count = process.sleeps,
             .total_ns = process.sleep_ns,
             .who = {{.name = fmt::format("{}[{}]", printable(comm), pid),
                      .count = process.sleeps,
                      .ns = process.sleep_ns}},
             .next = next_command(why_retry, failing.name, 0, info),
             .lock_wanted_by = failing.name == "flock" || failing.name == "fcntl" ? pid : 0,
             .pid = pid}});
  }
  return causes;
}

}  // namespace overdue
