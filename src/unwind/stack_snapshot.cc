#include "unwind/stack_snapshot.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace overdue {

StackCopy::StackCopy(std::vector<Part> parts) {
  std::ranges::sort(parts, {}, &Part::address);
  for (const Part& part : parts) {
    if (part.bytes.empty() || part.address > ~std::uint64_t{0} - part.bytes.size()) continue;
    if (!parts_.empty() && part.address - parts_.back().address < parts_.back().bytes.size())
      continue;
    parts_.push_back(part);
  }
}

std::optional<std::uint64_t> StackCopy::read(std::uint64_t address, unsigned size) const {
  std::uint64_t value = 0;
  if (size > sizeof value || address > ~std::uint64_t{0} - size) return std::nullopt;
  const auto out = std::as_writable_bytes(std::span(&value, 1)).first(size);
  if (!read_bytes(address, out)) return std::nullopt;
  return value;
}

// A word may begin in one part and end in the next.
bool StackCopy::read_bytes(std::uint64_t address, std::span<std::byte> out) const {
  auto part = std::ranges::upper_bound(parts_, address, {}, &Part::address);
  if (part == parts_.begin()) return false;
  --part;
  while (true) {
    if (part == parts_.end() || address < part->address) return false;
    const std::uint64_t offset = address - part->address;
    if (offset >= part->bytes.size()) return false;
    const std::size_t size = std::min<std::size_t>(out.size(), part->bytes.size() - offset);
    std::memcpy(out.data(), part->bytes.data() + offset, size);
    if (size == out.size()) return true;
    out = out.subspan(size);
    address += size;
    ++part;
  }
}

StackSnapshot snapshot_of(const user_registers& registers, std::span<const std::byte> memory) {
  std::array<std::uint64_t, register_count> values;  // in DWARF's order, as `registers` has them
  static_assert(sizeof values == sizeof registers);
  std::memcpy(values.data(), &registers, sizeof values);
  StackSnapshot snapshot;
  for (std::size_t i = 0; i < register_count; ++i) snapshot.registers.set(Register(i), values[i]);
  // The program can set rsp to any value: with no room below it, nothing was copied.
  if (registers.rsp >= USER_RED_ZONE)
    snapshot.stack = StackCopy({{.address = registers.rsp - USER_RED_ZONE, .bytes = memory}});
  return snapshot;
}

}  // namespace overdue
