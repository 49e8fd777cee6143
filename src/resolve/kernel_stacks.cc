#include "resolve/kernel_stacks.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "symbols/kernel_symbols.h"

namespace overdue {

struct KernelStacks::Symbols {
  KernelSymbols table;
};

KernelStacks::KernelStacks() = default;
KernelStacks::~KernelStacks() = default;

Stack KernelStacks::kernel_stack(std::span<const std::uint64_t> addresses) {
  if (!symbols_ && !addresses.empty()) {
    symbols_ = std::make_unique<Symbols>();
    try {
      symbols_->table = KernelSymbols::read();
    } catch (const Error&) {
      symbols_->table = {};  // frames stay addresses
    }
  }
  Stack stack;
  for (const std::uint64_t address : addresses) {
    StackFrame frame{.address = address, .offset = address, .is_kernel = true};
    if (const auto found = symbols_->table.find(address)) {
      frame.name = printable(found->symbol.name);
      frame.module = found->module.empty() ? std::string("[kernel]")
                                           : fmt::format("[{}]", printable(found->module));
      frame.offset = found->symbol.offset;
    }
    stack.push_back(std::move(frame));
  }
  return stack;
}

Stack untraced_stack(StackNamer& namer, std::span<const std::uint64_t> addresses) {
  Stack stack = namer.kernel_stack(addresses);
  drop_tracing(stack);
  return stack;
}

}  // namespace overdue
