// Very many short calls, which no threshold finds.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/why/call_causes.h"
#include "report/why/call_sums.h"
#include "report/why/next_command.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::uint64_t calls_share = 10;  // calls take 1/10 of a CPU
constexpr std::uint64_t short_call_ns = 200'000, calls_per_second = 200;
// A loop that sleeps so often looks for something.
constexpr std::uint64_t sleeps_per_second = 2'000;

/// Whether the calls of a row are very many and short.
bool is_many(const LatencyRow& row, const SessionInfo& info) {
  const std::uint64_t count = row.latency.count();
  return count > 0 && count >= per_session(calls_per_second, info) &&
         row.latency.total_ns() / count < short_call_ns;
}

/// A loop that goes round without an end, since a call in it fails each time.
struct FailingLoop {
  const LatencyRow* failing = nullptr;
  std::vector<std::string> others{};  ///< the other calls of a turn
  std::uint64_t ns = 0;               ///< of all calls of the loop
  std::uint64_t calls = 0, all_calls = 0;

  /// Whether a turn of the loop has a call of this row.
  bool has(const LatencyRow& row) const {
    const std::uint64_t turns = failing->latency.count(), count = row.latency.count();
    return count >= turns - turns / 5 && count <= turns + turns / 5;
  }
  bool is_whole_process() const { return calls * 10 >= all_calls * 9; }
  std::string text() const {
    std::string text = fmt::format(", and fails: {}", shortage_of(*failing));
    if (!others.empty()) text += fmt::format(", in a loop with {}", fmt::join(others, ", "));
    return text;
  }
};

/// By pid.
std::map<std::uint32_t, FailingLoop> failing_loops(const LatencyTable& calls,
                                                   const SessionInfo& info) {
  std::map<std::uint32_t, FailingLoop> loops;
  for (const LatencyRow& row : calls.rows) {
    if (!row.process || !is_many(row, info) || shortage_of(row).empty()) continue;
    FailingLoop& loop = loops[row.process->pid];
    if (!loop.failing || loop.failing->latency.count() < row.latency.count()) loop.failing = &row;
  }
  for (const LatencyRow& row : calls.rows) {
    const auto found = row.process ? loops.find(row.process->pid) : loops.end();
    if (found == loops.end()) continue;
    FailingLoop& loop = found->second;
    loop.all_calls += row.latency.count();
    if (!is_many(row, info) || !loop.has(row)) continue;
    loop.calls += row.latency.count();
    loop.ns += row.latency.total_ns();
    if (&row != loop.failing) loop.others.push_back(printable(row.name));
  }
  return loops;
}

/// Many calls of one kind, by the threads of a process whose names differ in numbers alone.
struct ManyCalls {
  std::string call, comm;
  std::uint32_t pid = 0;
  std::uint64_t count = 0, latency_ns = 0, max_ns = 0;
  const FailingLoop* loop = nullptr;  ///< of which the calls are a part
  Shortage shortage = Shortage::none;

  ManyCalls(const LatencyRow& row, const ProcessKey& process, const FailingLoop* of)
      : call(row.name),
        comm(process.comm),
        pid(process.pid),
        loop(of),
        shortage(shortage_named(shortage_of(row))) {
    add(row, process);
  }
  void add(const LatencyRow& row, const ProcessKey& process) {
    if (process.comm != comm) comm = without_numbers(comm);
    count += row.latency.count();
    latency_ns += row.latency.total_ns();
    max_ns = std::max(max_ns, row.latency.max_ns());
  }
  std::uint64_t ns() const { return loop ? loop->ns : latency_ns; }
  CallCause cause(const SessionInfo& info) const {
    return {
        .pid = pid,
        .call = call,
        .cause = {.cause = fmt::format("{} {} times, {} each{}", printable(call), grouped(count),
                                       duration_text(latency_ns / count), loop ? loop->text() : ""),
                  .kind = why_calls,
                  .count = count,
                  .total_ns = ns(),
                  .max_ns = max_ns,
                  .who = {{.name = fmt::format("{}[{}]", printable(comm), pid),
                           .count = count,
                           .ns = ns()}},
                  .next = next_command(why_calls, call, 0, info),
                  .shortage = shortage,
                  .pid = pid},
        .is_whole_process = loop && loop->is_whole_process()};
  }
};

}  // namespace

std::vector<CallCause> many_calls(const LatencyTable& calls, const SessionInfo& info) {
  const std::map<std::uint32_t, FailingLoop> loops = failing_loops(calls, info);
  // By process, name of the threads, call, and whether the calls are those that fail in a loop.
  std::map<std::tuple<std::uint32_t, std::string, std::string, bool>, ManyCalls> sums;
  for (const LatencyRow& row : calls.rows) {
    if (!row.process || !is_many(row, info)) continue;
    const ProcessKey& process = *row.process;
    const auto loop = loops.find(process.pid);
    const bool fails = loop != loops.end() && loop->second.failing == &row;
    if (!fails && loop != loops.end() && loop->second.has(row)) continue;
    const auto [sum, is_new] =
        sums.try_emplace({process.pid, without_numbers(process.comm), row.name, fails}, row,
                         process, fails ? &loop->second : nullptr);
    if (!is_new) sum->second.add(row, process);
  }
  std::vector<CallCause> causes;
  for (const auto& [key, many] : sums) {
    if (many.ns() < session_ns(info) / calls_share && !many.loop) continue;
    if (is_sleep(many.call) && many.count < per_session(sleeps_per_second, info)) continue;
    causes.push_back(many.cause(info));
  }
  std::ranges::sort(causes, std::ranges::greater(),
                    [](const CallCause& one) { return one.cause.total_ns; });
  return causes;
}

}  // namespace overdue
