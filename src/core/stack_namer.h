#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/time.h"
#include "bpf/span.h"
#include "core/stack.h"
#include "core/user_copy.h"

namespace overdue {

/// Turns addresses, and copies of user stacks, into resolved frames. One thread. Never throws on
/// bad input: an unresolved frame keeps a module and an offset.
class StackNamer {
 public:
  struct UserStack {
    Stack frames;
    std::string end;  ///< why the stack ends early; empty: complete
  };

  virtual ~StackNamer() = default;
  /// Innermost first; all but the first are return addresses.
  virtual Stack kernel_stack(std::span<const std::uint64_t> addresses) = 0;
  /// `copy` was made `at`. With Python's frames, the interpreter's own frames are replaced.
  virtual UserStack user_stack(std::uint32_t pid, const user_registers& registers,
                               const UserCopy& copy, KernelTime at) = 0;
  /// The name of a thread that no record names; empty if it is not known any more.
  virtual std::string thread_name(std::uint32_t /*pid*/, std::uint32_t /*tid*/) { return {}; }
};

}  // namespace overdue
