#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/time.h"
#include "bpf/span.h"
#include "core/stack.h"

namespace overdue {

/// Turns addresses, and copies of user stacks, into named frames. Used by one thread. Never throws
/// for what a stack holds: what nobody can name stays a module and an offset.
class StackNamer {
 public:
  struct UserStack {
    Stack frames;
    std::string end;  ///< why it goes no further; empty: it is complete
  };

  virtual ~StackNamer() = default;
  /// Innermost first; all but the first are return addresses.
  virtual Stack kernel_stack(std::span<const std::uint64_t> addresses) = 0;
  /// `copy` begins at registers.rsp - USER_RED_ZONE, and was made `at`.
  virtual UserStack user_stack(std::uint32_t pid, const user_registers& registers,
                               std::span<const std::byte> copy, KernelTime at) = 0;
  /// What a thread is called that no record names; empty where nobody knows any more.
  virtual std::string thread_name(std::uint32_t /*pid*/, std::uint32_t /*tid*/) { return {}; }
};

}  // namespace overdue
