#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bpf/span.h"
#include "unwind/registers.h"

namespace overdue {

/// A copy of some memory of a thread: its stack from rsp upwards (better: from
/// 128 bytes below, where leaf functions may keep things), with holes where a page could not
/// be read, and whatever else was copied (a signal's alternate stack). Borrows the bytes.
class StackCopy {
 public:
  struct Part {
    std::uint64_t address = 0;
    std::span<const std::byte> bytes;
  };

  StackCopy() = default;
  /// In any order. What wraps around the address space, or overlaps what is below it, is left
  /// out.
  explicit StackCopy(std::vector<Part> parts);

  /// The word of `size` bytes (1, 2, 4 or 8) at `address`, wherever it is aligned; nothing unless
  /// it was copied whole.
  std::optional<std::uint64_t> read(std::uint64_t address, unsigned size = 8) const;

 private:
  bool read_bytes(std::uint64_t address, std::span<std::byte> out) const;

  std::vector<Part> parts_;  // ascending
};

/// What is known of a thread at one moment, enough to unwind it later.
struct StackSnapshot {
  Registers registers{};  ///< rip and rsp at least; more is better: CFI may name any of them
  StackCopy stack{};
};

/// What a span's record carries: `memory` was copied from rsp - USER_RED_ZONE upwards. Borrows it.
StackSnapshot snapshot_of(const user_registers& registers, std::span<const std::byte> memory);

}  // namespace overdue
