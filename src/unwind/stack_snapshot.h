#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bpf/span.h"
#include "unwind/registers.h"

namespace overdue {

/// A copy of memory of a thread: its stack from rsp upwards (better from 128 bytes below, where
/// leaf functions may keep data), with holes for unreadable pages, and other memory that was copied
/// (a signal's alternate stack). Borrows the bytes.
class StackCopy {
 public:
  struct Part {
    std::uint64_t address = 0;
    std::span<const std::byte> bytes;
  };

  StackCopy() = default;
  /// In any order. A part that wraps around the address space, or overlaps the part below it, is
  /// left out.
  explicit StackCopy(std::vector<Part> parts);

  /// The word of `size` bytes (1, 2, 4 or 8) at `address`, of any alignment; nothing unless all its
  /// bytes were copied.
  std::optional<std::uint64_t> read(std::uint64_t address, unsigned size = 8) const;

 private:
  bool read_bytes(std::uint64_t address, std::span<std::byte> out) const;

  std::vector<Part> parts_;  // ascending
};

/// The state of a thread at one moment, enough to unwind it later.
struct StackSnapshot {
  Registers registers{};  ///< at least rip and rsp; CFI may need any of the others
  StackCopy stack{};
};

/// The snapshot in a span's record: `memory` was copied from rsp - USER_RED_ZONE upwards. Borrows
/// it.
StackSnapshot snapshot_of(const user_registers& registers, std::span<const std::byte> memory);

}  // namespace overdue
