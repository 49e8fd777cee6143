#include "probes/pairs/usdt_arguments.h"

#include <asm/ptrace.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string>
#include <utility>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t max_arguments = 12;
constexpr Step whole_register{.operation = PLAN_LOAD, .size = 8};  // register

struct Register {
  std::string_view names[4];  // of 8, 4, 2 and 1 bytes
  std::size_t offset;
};
constexpr std::array<Register, 16> named_registers{{
    {{"rax", "eax", "ax", "al"}, offsetof(pt_regs, rax)},
    {{"rbx", "ebx", "bx", "bl"}, offsetof(pt_regs, rbx)},
    {{"rcx", "ecx", "cx", "cl"}, offsetof(pt_regs, rcx)},
    {{"rdx", "edx", "dx", "dl"}, offsetof(pt_regs, rdx)},
    {{"rsi", "esi", "si", "sil"}, offsetof(pt_regs, rsi)},
    {{"rdi", "edi", "di", "dil"}, offsetof(pt_regs, rdi)},
    {{"rbp", "ebp", "bp", "bpl"}, offsetof(pt_regs, rbp)},
    {{"rsp", "esp", "sp", "spl"}, offsetof(pt_regs, rsp)},
    {{"r8", "r8d", "r8w", "r8b"}, offsetof(pt_regs, r8)},
    {{"r9", "r9d", "r9w", "r9b"}, offsetof(pt_regs, r9)},
    {{"r10", "r10d", "r10w", "r10b"}, offsetof(pt_regs, r10)},
    {{"r11", "r11d", "r11w", "r11b"}, offsetof(pt_regs, r11)},
    {{"r12", "r12d", "r12w", "r12b"}, offsetof(pt_regs, r12)},
    {{"r13", "r13d", "r13w", "r13b"}, offsetof(pt_regs, r13)},
    {{"r14", "r14d", "r14w", "r14b"}, offsetof(pt_regs, r14)},
    {{"r15", "r15d", "r15w", "r15b"}, offsetof(pt_regs, r15)},
}};

std::optional<std::size_t> register_offset(std::string_view text) {
  if (!text.starts_with('%')) return std::nullopt;
  for (const Register& each : named_registers)
    for (const std::string_view name : each.names)
      if (text.substr(1) == name) return each.offset;
  return std::nullopt;
}

std::optional<std::int64_t> signed_number_of(std::string_view text) {
  std::int64_t value = 0;
  const bool is_hex = text.starts_with("0x") || text.starts_with("-0x");
  std::string digits(text);
  if (is_hex) digits.erase(digits.find("0x"), 2);
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value, is_hex ? 16 : 10);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

/// Parses the inside of "(%rbp)" or "(%rbp,%rcx)". An address without a base, "(,%rcx,8)", is
/// refused.
bool read_address(std::string_view inside, UsdtArgument& argument) {
  const std::vector<std::string_view> parts = split(inside, ',');
  if (parts.empty() || parts.size() > 3) return false;
  const auto base = register_offset(parts[0]);
  if (!base) return false;
  argument.base = *base;
  if (parts.size() == 1) return true;
  argument.index = register_offset(parts[1]);
  const auto scale = parts.size() == 3 ? signed_number_of(parts[2]) : 1;
  if (!argument.index || !scale || *scale < 1 || *scale > 8) return false;
  argument.scale_bits = static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(*scale)));
  return std::has_single_bit(static_cast<unsigned>(*scale));
}

UsdtArgument::Kind read_place(std::string_view place, UsdtArgument& argument) {
  using Kind = UsdtArgument::Kind;
  if (place.starts_with('$')) {
    const auto number = signed_number_of(place.substr(1));
    argument.number = number.value_or(0);
    return number ? Kind::constant : Kind::elsewhere;
  }
  const std::size_t open = place.find('(');
  if (open == std::string_view::npos) {
    const auto found = register_offset(place);
    argument.base = found.value_or(0);
    return found ? Kind::in_register : Kind::elsewhere;
  }
  const auto displacement =
      open == 0 ? std::optional<std::int64_t>(0) : signed_number_of(place.substr(0, open));
  const std::string_view inside = place.substr(open + 1);
  if (!displacement || *displacement != static_cast<std::int32_t>(*displacement) ||
      !inside.ends_with(')') || !read_address(inside.substr(0, inside.size() - 1), argument))
    return Kind::elsewhere;
  argument.number = *displacement;
  return Kind::in_memory;
}

/// The event's own bytes are the thread's registers.
void push_register(PlanWriter& steps, std::size_t offset, std::size_t at,
                   Step load = whole_register) {
  steps.push({.operation = PLAN_BUILTIN, .operand = PLAN_CONTEXT}, at);
  load.offset = static_cast<s32>(offset);
  steps.emit(load, at);
}

void push_address(PlanWriter& steps, const UsdtArgument& argument, std::size_t at) {
  push_register(steps, argument.base, at);
  if (!argument.index) return;
  push_register(steps, *argument.index, at);
  steps.push({.operation = PLAN_CONSTANT, .operand = argument.scale_bits}, at);
  steps.combine({.operation = PLAN_SHIFT_LEFT}, at);
  steps.combine({.operation = PLAN_ADD}, at);
}

UsdtArgument parse_one(std::string_view word) {
  UsdtArgument argument;
  const std::size_t at = word.find('@');
  if (at == std::string_view::npos) return argument;
  std::string_view size = word.substr(0, at);
  argument.is_signed = size.starts_with('-');
  if (argument.is_signed) size.remove_prefix(1);
  const auto bytes = signed_number_of(size);
  if (!bytes || (*bytes != 1 && *bytes != 2 && *bytes != 4 && *bytes != 8)) return argument;
  argument.size = static_cast<std::uint32_t>(*bytes);
  argument.kind = read_place(word.substr(at + 1), argument);
  return argument;
}

}  // namespace

std::vector<UsdtArgument> parse_usdt_arguments(std::string_view text) {
  std::vector<UsdtArgument> arguments;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (arguments.size() == max_arguments) break;
    arguments.push_back(parse_one(word));
  }
  return arguments;
}

bool push_usdt_argument(PlanWriter& steps, const UsdtArgument& argument, std::size_t at) {
  Step value{.operation = PLAN_LOAD, .size = argument.size, .is_signed = argument.is_signed};
  switch (argument.kind) {
    case UsdtArgument::Kind::constant:
      steps.push({.operation = PLAN_CONSTANT, .operand = static_cast<u64>(argument.number)}, at);
      return true;
    case UsdtArgument::Kind::in_register:
      push_register(steps, argument.base, at, value);
      return true;
    case UsdtArgument::Kind::in_memory:
      push_address(steps, argument, at);
      value.memory = PLAN_USER;
      value.offset = static_cast<s32>(argument.number);
      steps.emit(value, at);
      return true;
    case UsdtArgument::Kind::elsewhere:
      break;
  }
  return false;
}

}  // namespace overdue
