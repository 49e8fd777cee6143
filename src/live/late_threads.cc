#include "live/late_threads.h"

#include <algorithm>
#include <functional>

namespace overdue {

std::vector<const OffcpuRow*> threads_without_cpu(const std::vector<OffcpuRow>& threads) {
  std::vector<const OffcpuRow*> late;
  for (const OffcpuRow& thread : threads)
    if (thread.threads == 1 && thread.wall_ns > 0 &&
        time_without_cpu_ns(thread) * 10 >= thread.wall_ns)
      late.push_back(&thread);
  std::ranges::sort(late, std::ranges::greater(),
                    [](const OffcpuRow* thread) { return time_without_cpu_ns(*thread); });
  if (late.size() > late_threads_max) late.resize(late_threads_max);
  return late;
}

}  // namespace overdue
