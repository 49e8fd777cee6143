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

/// Stacks of a thread at its CPU's tick, at its preemption, or as it woke another thread.
struct RawSample {
  event_header header{};
  bool is_of_waker = false;
  /// Addresses, innermost first, including the functions of the tick itself.
  std::vector<std::uint64_t> kernel_stack;
  user_registers registers{};
  std::vector<std::byte> user_stack;  ///< as in UserCopy; empty: none
  std::vector<std::byte> python{};    ///< likewise
  /// Named frames, kept from their first use on: many findings may share a sample. The raw stacks
  /// are then empty.
  std::optional<Stack> named{};
};

/// The latest samples of all threads, bounded in number. Used by one thread.
class CpuSamples {
 public:
  /// `most`: largest number of samples, of up to 2.4 kB each.
  explicit CpuSamples(std::size_t most = 8192) : most_(most) {}

  /// Takes a record of a sample that is not much older than the newest sample so far.
  void take(const Record& record);
  /// Samples of the thread on a CPU after `begin_ns` and not after `end_ns`, in order of arrival.
  /// Valid until the next take().
  std::vector<RawSample*> of(std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns);
  /// Sample of the thread as it woke another thread at `time_ns`; null: none. Valid until the next
  /// take().
  RawSample* of_waker(std::uint32_t tid, std::uint64_t time_ns);

 private:
  std::size_t most_;
  std::unordered_map<std::uint32_t, std::deque<RawSample>> by_thread_;
  std::deque<std::uint32_t> order_;  ///< thread ids of the samples, oldest first
};

}  // namespace overdue
