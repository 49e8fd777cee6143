#include "kernel/workload_thread.h"

#include <sched.h>

#include <cerrno>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/signals_blocked.h"
#include "base/time.h"

namespace overdue {
namespace {

constexpr std::size_t stack_bytes = 256 << 10;  // per thread; locked memory

}  // namespace

pthread_t start_thread(std::function<void()> work) {
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  const SignalsBlocked blocked;
  pthread_t thread{};
  const int code = pthread_create(
      &thread, &attributes,
      [](void* argument) -> void* {
        const std::unique_ptr<std::function<void()>> mine(
            static_cast<std::function<void()>*>(argument));
        (*mine)();
        return nullptr;
      },
      owned.get());
  pthread_attr_destroy(&attributes);
  if (code != 0) throw Error("cannot start a thread: {}", errno_text(code));
  [[maybe_unused]] const auto* const given = owned.release();  // to the thread
  return thread;
}

int pin_to(std::uint32_t cpu) {
  cpu_set_t* const set = CPU_ALLOC(cpu + 1);
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  const int code = sched_setaffinity(0, bytes, set) == 0 ? 0 : errno;
  CPU_FREE(set);
  return code;
}

Error cannot_run_on(std::uint32_t cpu, int code, std::string_view thread, std::string_view hint) {
  if (code == EINVAL)
    return std::move(Error("CPU {} is offline, or none this process may run on", cpu)
                         .hint("see Cpus_allowed_list in /proc/self/status, and --cpu"));
  return std::move(
      Error("cannot make {} on CPU {}: {}", thread, cpu, errno_text(code)).hint(std::string(hint)));
}

void sleep_until(std::uint64_t at_ns) {
  const std::uint64_t ours_ns = at_ns + static_cast<std::uint64_t>(KernelClock::shift_ns());
  const timespec at{static_cast<time_t>(ours_ns / 1'000'000'000),
                    static_cast<long>(ours_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

}  // namespace overdue
