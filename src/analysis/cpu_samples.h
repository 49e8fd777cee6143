#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "bpf/span.h"
#include "core/record.h"
#include "core/stack.h"

namespace overdue {

/// Where a thread was when its CPU's tick came, it was preempted, or it woke another.
struct RawSample {
  event_header header{};
  bool is_of_waker = false;
  std::vector<std::uint64_t> kernel_stack;  ///< innermost first, the tick's own functions too
  user_registers registers{};
  std::vector<std::byte> user_stack;  ///< as UserSide has it; empty: none
  /// In names, once a finding has asked for it: many findings may have the same samples. What it
  /// was made of is gone then.
  std::optional<Stack> named{};
};

/// The last samples of all threads, within bounds. One thread.
class CpuSamples {
 public:
  /// At most so many, of up to 2.4 kB.
  explicit CpuSamples(std::size_t most = 8192) : most_(most) {}

  /// A record of a sample, not much older than the newest so far.
  void take(const Record& record);
  /// Those of the thread on its CPU after `begin_ns` and not after `end_ns`, in the order they came
  /// in. Valid until the next take().
  std::vector<RawSample*> of(std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns);
  /// That of the thread as it woke another then; null: there is none. Valid as those.
  RawSample* of_waker(std::uint32_t tid, std::uint64_t time_ns);

 private:
  std::size_t most_;
  std::unordered_map<std::uint32_t, std::deque<RawSample>> by_thread_;
  std::deque<std::uint32_t> order_;  ///< whose samples came, oldest first
};

}  // namespace overdue
