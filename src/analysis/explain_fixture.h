// Shared by the tests of explain(): a span with its records in, a finding out.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "analysis/explain.h"
#include "analysis/records_fixture.h"

namespace overdue {

/// Names addresses by a table.
class FakeNamer final : public StackNamer {
 public:
  std::map<u64, std::string> names;

  bool is_user_first = true;  ///< no kernel stack was requested before a user stack

  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    Stack stack;
    had_kernel_ |= !addresses.empty();
    for (const u64 address : addresses) {
      const auto found = names.find(address);
      StackFrame frame{.address = address, .module = "[kernel]"};
      if (found != names.end()) frame.name = found->second;
      if (frame.name.starts_with("bpf_prog_")) frame.module = "[bpf]";
      stack.push_back(std::move(frame));
    }
    return stack;
  }
  UserStack user_stack(std::uint32_t pid, const user_registers& registers, const UserCopy& copy,
                       KernelTime) override {
    is_user_first &= !had_kernel_;
    return {.frames = {{.address = registers.rip, .name = std::to_string(pid)}},
            .end = copy.stack.size() < 100 ? "cut" : ""};
  }

 private:
  bool had_kernel_ = false;
};

/// Explains the spans given to `fed`; `finding` is that of the latest span.
class Explainer {
 public:
  Explainer() {
    fed.look = [this](const RawStall& stall) { finding = explain(stall, namer, {}); };
  }
  Fed fed;
  FakeNamer namer;
  Finding finding;
};

}  // namespace overdue
