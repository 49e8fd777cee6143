#include "cli/local_stack_namer.h"

#include <cstring>

namespace overdue {
namespace {

StackFrame frame_of(Frame frame) {
  return {.name = std::move(frame.symbol),
          .module = std::move(frame.module),
          .offset = frame.offset,
          .build_id = std::move(frame.build_id)};
}

StackSnapshot snapshot_of(const user_registers& wire, std::span<const std::byte> copy) {
  StackSnapshot snapshot;
  std::uint64_t values[register_count];
  static_assert(sizeof values == sizeof wire);
  std::memcpy(values, &wire, sizeof wire);
  for (std::size_t i = 0; i < register_count; ++i)
    snapshot.registers.set(static_cast<Register>(i), values[i]);
  snapshot.stack = StackCopy({{wire.rsp - USER_RED_ZONE, copy}});
  return snapshot;
}

}  // namespace

Stack LocalStackNamer::kernel_stack(std::span<const std::uint64_t> addresses) {
  Stack stack;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    stack.push_back(frame_of(symbolizer_.kernel_frame(
        addresses[i], i == 0 ? AddressKind::instruction : AddressKind::return_address)));
  return stack;
}

StackNamer::UserStack LocalStackNamer::user_stack(std::uint32_t pid,
                                                  const user_registers& registers,
                                                  std::span<const std::byte> copy) {
  UserStack named;
  auto process = Process::read(static_cast<pid_t>(pid));
  if (!process) {
    named.end = "the process is gone";
    return named;
  }
  auto maps = ProcessMaps::read(static_cast<pid_t>(pid));
  if (!maps) return named;
  AddressSpace space(static_cast<pid_t>(pid), std::move(*maps));
  const UnwoundStack stack = unwinder_.unwind(space, snapshot_of(registers, copy));
  for (const UnwoundFrame& frame : stack.frames)
    named.frames.push_back(frame_of(symbolizer_.user_frame(*process, frame.address, frame.kind)));
  if (stack.end.reason != UnwindEnd::Reason::bottom) named.end = to_text(stack.end);
  return named;
}

}  // namespace overdue
