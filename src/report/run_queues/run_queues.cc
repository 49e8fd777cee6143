#include "report/run_queues/run_queues.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

/// By enum queued_state: words of JSON, and marks of the text, as the kernel's own.
constexpr std::array<std::string_view, 3> states{"running", "runnable", "asleep"};
constexpr std::array<std::string_view, 3> marks{">R", " R", " S"};

std::size_t number_of_state(const queued_task& task) {
  return std::min<std::size_t>(task.state, states.size() - 1);
}

std::string name_of(const queued_task& task, const RunQueues& queues) {
  const auto full = queues.full_names.find(task.tid);
  return full == queues.full_names.end() ? std::string(fixed_text(task.comm)) : full->second;
}

void describe_task(Members& member, const queued_task& task, const RunQueues& queues) {
  member.type("queued_task", "A thread in a run queue");
  member("pid", task.pid);
  member("tid", task.tid);
  member("comm", name_of(task, queues));
  member("state", states[number_of_state(task)],
         {.help = "running: has the CPU; runnable: waits for it; asleep: ran last on it, or is on "
                  "its way to another state",
          .choices = states});
  member("tree_key_ns", std::int64_t{task.tree_key_ns},
         {.help = "virtual run time of the scheduler, by which ordinary threads of a group stand "
                  "in line"});
  member("switches", task.switches, {.help = "times the thread left a CPU"});
  member("prio", std::int64_t{task.prio},
         {.help = "of the scheduler: 0 to 99 real time, 100 to 139 nice -20 to 19"});
}

/// In milliseconds with six decimals, as the kernel prints it.
std::string tree_key_text(std::int64_t ns) {
  const std::uint64_t size =
      ns < 0 ? -static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:06}", ns < 0 ? "-" : "", size / 1'000'000, size % 1'000'000);
}

std::string tasks_text(const RunQueue& queue, const RunQueues& queues) {
  constexpr std::string_view heading = "task";
  std::size_t width = heading.size();
  for (const queued_task& task : queue.tasks)
    width = std::max(width, display_width(printable(name_of(task, queues))));
  const auto line = [width](std::string_view mark, const std::string& name, const auto&... rest) {
    return fmt::format("{:>2} {}{} {:>8} {:>8} {:>20} {:>10} {:>5}\n", mark,
                       std::string(width - display_width(name), ' '), name, rest...);
  };
  std::string text = line("S", std::string(heading), "PID", "TID", "tree-key", "switches", "prio");
  for (const queued_task& task : queue.tasks)
    text += line(marks[number_of_state(task)], printable(name_of(task, queues)), task.pid, task.tid,
                 tree_key_text(task.tree_key_ns), task.switches, task.prio);
  return text;
}

}  // namespace

RunQueues run_queues_of(std::span<const queued_task> tasks, std::span<const std::uint32_t> cpus,
                        std::uint32_t own_pid) {
  std::map<std::uint32_t, RunQueue> by_cpu;
  for (const std::uint32_t cpu : cpus) by_cpu[cpu].cpu = cpu;
  for (const queued_task& task : tasks) {
    if (task.pid == own_pid || (!cpus.empty() && !by_cpu.contains(task.cpu))) continue;
    RunQueue& queue = by_cpu[task.cpu];
    queue.cpu = task.cpu;
    queue.tasks.push_back(task);
  }
  RunQueues queues;
  for (auto& [cpu, queue] : by_cpu) {
    std::ranges::sort(queue.tasks, {}, [](const queued_task& task) {
      return std::tuple(number_of_state(task), task.tree_key_ns, task.tid);
    });
    queues.cpus.push_back(std::move(queue));
  }
  return queues;
}

void describe(Members& member, const RunQueues& queues) {
  member("time", format_rfc3339(queues.time));
  member.list(
      "cpus", queues.cpus,
      [&](const RunQueue& queue) {
        member.type("run_queue", "The threads in the run queue of a CPU, without those of Overdue");
        member("cpu", queue.cpu);
        member.list("tasks", queue.tasks,
                    [&](const queued_task& task) { describe_task(member, task, queues); },
                    {.help = "the running one first, then those that wait; equal ones by tree key",
                     .below = true});
      },
      {.below = true});
}

std::string run_queues_text(const RunQueues& queues) {
  if (queues.cpus.empty()) return "no thread is runnable\n";
  std::string text;
  for (const RunQueue& queue : queues.cpus)
    text +=
        fmt::format("{}CPU {}\n{}", text.empty() ? "" : "\n", queue.cpu,
                    queue.tasks.empty() ? "no thread is runnable\n" : tasks_text(queue, queues));
  return text;
}

}  // namespace overdue
