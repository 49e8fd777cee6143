#include "source/osnoise_tracer_threads.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/read_text.h"

namespace overdue {
namespace {

/// Kernel threads called timerlat/N, or osnoise/N.
std::vector<pid_t> threads_of_tracer(std::string_view tracer,
                                     const std::vector<std::uint32_t>& cpus) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t pid = 0;
    const std::string number = entry.path().filename();
    if (std::from_chars(number.data(), number.data() + number.size(), pid).ec != std::errc{})
      continue;
    const std::string name = read_word(entry.path() / "comm");
    const bool ours = std::any_of(cpus.begin(), cpus.end(), [&](std::uint32_t cpu) {
      return name == fmt::format("{}/{}", tracer, cpu);
    });
    // Kernel threads have no memory of their own.
    if (ours && read_word(entry.path() / "maps").empty() &&
        read_word(entry.path() / "cmdline").empty())
      found.push_back(pid);
  }
  return found;
}

}  // namespace

void set_priority_of_tracer(std::string_view tracer, const std::vector<std::uint32_t>& cpus,
                            int priority) {
  const bool give_themselves_one = tracer == "timerlat";  // when they begin
  const sched_param wanted{.sched_priority = priority};
  for (int tries = 0; tries < 100; ++tries) {
    const std::vector<pid_t> threads = threads_of_tracer(tracer, cpus);
    const bool all = threads.size() >= cpus.size() &&
                     std::all_of(threads.begin(), threads.end(), [&](pid_t pid) {
                       return !give_themselves_one || sched_getscheduler(pid) == SCHED_FIFO;
                     });
    if (all) {
      for (const pid_t pid : threads)
        check_errno(sched_setscheduler(pid, SCHED_FIFO, &wanted),
                    "cannot give the tracer's thread {} the priority {}", pid, priority);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw Error("the tracer's threads do not show; their priority cannot be set")
      .hint(fmt::format("without --priority they have {}",
                        give_themselves_one ? fmt::format("{}", priority_of_timerlat) : "none"));
}

}  // namespace overdue
