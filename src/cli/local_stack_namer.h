#pragma once

#include <list>
#include <map>

#include "core/stack_namer.h"
#include "symbols/symbolizer.h"
#include "unwind/unwinder.h"

namespace overdue {

/// Names stacks in our own process.
class LocalStackNamer final : public StackNamer {
 public:
  LocalStackNamer() : symbolizer_(KernelSymbols::read()) {}

  Stack kernel_stack(std::span<const std::uint64_t> addresses) override;
  UserStack user_stack(std::uint32_t pid, const user_registers& registers,
                       std::span<const std::byte> copy) override;

 private:
  Symbolizer symbolizer_;
  Unwinder unwinder_;
};

}  // namespace overdue
