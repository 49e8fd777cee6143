#include "analysis/cpu_samples.h"

#include <algorithm>
#include <utility>

#include "analysis/user_side.h"
#include "bpf/user_stack.h"

namespace overdue {

void CpuSamples::take(const Record& record) {
  const auto fixed = record.as<cpu_sample>();
  RawSample sample{.header = fixed.header,
                   .is_of_waker = fixed.reason == SAMPLE_OF_WAKER,
                   .kernel_stack = {},
                   .user_stack = {}};
  const std::size_t frames = std::min<std::size_t>(fixed.kernel_frames, SAMPLE_FRAMES);
  sample.kernel_stack.assign(fixed.kernel, fixed.kernel + frames);
  if (const auto side = user_side_at(record.bytes, sizeof fixed, fixed.flags, fixed.user_bytes)) {
    sample.registers = side->registers;
    sample.user_stack.assign(side->copy.stack.begin(), side->copy.stack.end());
    sample.python.assign(side->copy.python.begin(), side->copy.python.end());
  }
  const std::uint32_t tid = fixed.header.tid;
  by_thread_[tid].push_back(std::move(sample));
  order_.push_back(tid);
  if (order_.size() <= most_) return;
  const auto oldest = by_thread_.find(order_.front());
  order_.pop_front();
  oldest->second.pop_front();
  if (oldest->second.empty()) by_thread_.erase(oldest);
}

std::vector<RawSample*> CpuSamples::of(std::uint32_t tid, std::uint64_t begin_ns,
                                       std::uint64_t end_ns) {
  std::vector<RawSample*> found;
  const auto thread = by_thread_.find(tid);
  if (thread == by_thread_.end()) return found;
  // Newest first: most samples are requested soon after their arrival. Samples of different CPUs
  // may be read in the wrong order.
  constexpr std::uint64_t disorder_ns = 1'000'000'000;
  for (auto sample = thread->second.rbegin(); sample != thread->second.rend(); ++sample) {
    const std::uint64_t time_ns = sample->header.time_ns;
    if (time_ns + disorder_ns <= begin_ns) break;
    if (time_ns > begin_ns && time_ns <= end_ns && !sample->is_of_waker) found.push_back(&*sample);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

RawSample* CpuSamples::of_waker(std::uint32_t tid, std::uint64_t time_ns) {
  const auto thread = by_thread_.find(tid);
  if (thread == by_thread_.end()) return nullptr;
  const auto found = std::find_if(thread->second.begin(), thread->second.end(),
                                  [time_ns](const RawSample& sample) {
                                    return sample.is_of_waker && sample.header.time_ns == time_ns;
                                  });
  return found == thread->second.end() ? nullptr : &*found;
}

}  // namespace overdue
