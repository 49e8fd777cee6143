#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/stack_namer.h"

namespace overdue {

/// Names kernel addresses from one reading of the kernel's symbols, at the first address. User
/// stacks stay empty. Used by one thread.
class KernelStacks final : public StackNamer {
 public:
  KernelStacks();
  ~KernelStacks() override;

  Stack kernel_stack(std::span<const std::uint64_t> addresses) override;
  UserStack user_stack(std::uint32_t, const user_registers&, const UserCopy&, KernelTime) override {
    return {};
  }

 private:
  struct Symbols;
  std::unique_ptr<Symbols> symbols_;
};

/// The named frames of `addresses`, without those of tracing itself.
Stack untraced_stack(StackNamer& namer, std::span<const std::uint64_t> addresses);

}  // namespace overdue
