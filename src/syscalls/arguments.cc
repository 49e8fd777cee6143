#include "syscalls/arguments.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "syscalls/arguments_context.h"
#include "syscalls/arguments_text.h"
#include "syscalls/signatures.h"

namespace overdue {
namespace {

struct CopiedText {
  std::string_view text;
  bool truncated = false;
};
using CopiedTexts = std::array<std::optional<CopiedText>, SYSCALL_ARGUMENTS>;

/// The strings behind the record, by argument. A string without its NUL ends where the bytes end.
CopiedTexts split_texts(const syscall_call& call, std::span<const std::byte> bytes) {
  CopiedTexts texts;
  if (call.text_arguments == 0) return texts;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()),
                        std::min<std::size_t>(bytes.size(), call.text_size));
  for (unsigned i = 0; i < SYSCALL_ARGUMENTS && !rest.empty(); ++i) {
    if (!(call.text_arguments >> i & 1)) continue;
    const std::size_t end = rest.find('\0');
    const bool is_whole = end != std::string_view::npos;
    texts[i] = CopiedText{rest.substr(0, end), !is_whole || (call.text_truncated >> i & 1)};
    rest.remove_prefix(is_whole ? end + 1 : rest.size());
  }
  return texts;
}

void append_descriptor(std::string& out, std::uint64_t value, bool may_be_cwd) {
  constexpr std::int32_t current_directory = -100;
  const auto fd = static_cast<std::int32_t>(value);
  if (may_be_cwd && fd == current_directory)
    out += "AT_FDCWD";
  else
    append_signed(out, fd);
}

void append_device(std::string& out, std::uint64_t value) {
  const auto device = static_cast<std::uint32_t>(value);
  append_unsigned(out, device >> 8 & 0xfff);
  out += ':';
  append_unsigned(out, (device & 0xff) | (device >> 12 & 0xfff00));
}

void append_ipc_get_flags(std::string& out, std::uint64_t value) {
  constexpr std::uint32_t mode_bits = 0777;
  const auto flags = static_cast<std::uint32_t>(value);
  if (flags & ~mode_bits) {
    append_symbols(out, ipc_flags, flags & ~mode_bits);
    out += '|';
  }
  append_octal(out, flags & mode_bits);
}

void append_value(std::string& out, const Argument& argument, std::uint64_t value, bool is_compat) {
  const auto narrow = static_cast<std::uint32_t>(value);
  const auto narrow_signed = static_cast<std::int32_t>(value);
  switch (argument.kind) {
    case ArgumentKind::symbols:
      return append_symbols(out, *argument.values, value);
    case ArgumentKind::signed_int:
    case ArgumentKind::pid:
      return append_signed(out, narrow_signed);
    case ArgumentKind::unsigned_int:
      return append_unsigned(out, narrow);
    case ArgumentKind::signed_long:
    case ArgumentKind::offset:
      return append_signed(out, is_compat ? narrow_signed : static_cast<std::int64_t>(value));
    case ArgumentKind::unsigned_long:
    case ArgumentKind::size:
      return append_unsigned(out, value);
    case ArgumentKind::hex:
      return append_hex(out, value);
    case ArgumentKind::hex32:
      return append_hex(out, narrow);
    case ArgumentKind::fd:
      return append_descriptor(out, value, false);
    case ArgumentKind::dirfd:
      return append_descriptor(out, value, true);
    case ArgumentKind::mode:
      return append_octal(out, static_cast<std::uint16_t>(value));
    case ArgumentKind::file_mode:
      return append_file_mode(out, value);
    case ArgumentKind::device:
      return append_device(out, value);
    case ArgumentKind::id:
      if (narrow == UINT32_MAX || (is_compat && narrow == UINT16_MAX))
        return append_signed(out, -1);
      return append_unsigned(out, narrow);
    case ArgumentKind::signal_number:
      return append_signal(out, value);
    case ArgumentKind::ipc_get_flags:
      return append_ipc_get_flags(out, value);
    case ArgumentKind::clone_flags:
      return append_clone_flags(out, value);
    case ArgumentKind::futex_operation:
      return append_futex_operation(out, value);
    default:
      return append_address(out, value);
  }
}

}  // namespace

std::span<const std::string_view> ArgumentDecoder::decode(const syscall_call& call,
                                                          std::span<const std::byte> text) {
  static constexpr Signature unknown{"",
                                     {{"arg0", ArgumentKind::hex},
                                      {"arg1", ArgumentKind::hex},
                                      {"arg2", ArgumentKind::hex},
                                      {"arg3", ArgumentKind::hex},
                                      {"arg4", ArgumentKind::hex},
                                      {"arg5", ArgumentKind::hex}}};
  const Signature* found = find_signature(call.abi, call.nr);
  const Signature& signature = found ? *found : unknown;
  const bool is_compat = call.abi == ABI_COMPAT;
  const CopiedTexts texts = split_texts(call, text);
  Registers registers;
  for (unsigned i = 0; i < SYSCALL_ARGUMENTS; ++i)
    registers[i] = is_compat ? static_cast<std::uint32_t>(call.arguments[i]) : call.arguments[i];

  buffer_.clear();
  std::size_t ends[SYSCALL_ARGUMENTS];
  unsigned shown = 0;
  for (unsigned i = 0; i < SYSCALL_ARGUMENTS && signature.arguments[i].kind != ArgumentKind::none;
       ++i) {
    const Argument argument = argument_in_context(signature.arguments[i], i, registers);
    if (argument.kind == ArgumentKind::none) continue;
    buffer_ += argument.name;
    buffer_ += '=';
    if (texts[i])
      append_quoted(buffer_, texts[i]->text, texts[i]->truncated);
    else
      append_value(buffer_, argument, registers[i], is_compat);
    ends[shown++] = buffer_.size();
  }
  // The views are made last: the buffer may have moved while it grew.
  std::size_t begin = 0;
  for (unsigned i = 0; i < shown; ++i) {
    views_[i] = std::string_view(buffer_).substr(begin, ends[i] - begin);
    begin = ends[i];
  }
  return {views_.data(), shown};
}

}  // namespace overdue
