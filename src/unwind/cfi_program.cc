#include "unwind/cfi_program.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace overdue {
namespace {

// The longest programs of compilers have some thousand instructions; they nest states once or
// twice.
constexpr std::size_t max_program_bytes = 256u << 10;
constexpr std::size_t max_remembered = 32;
constexpr std::size_t longest_expression = 4096;

enum : std::uint8_t {
  cfa_set_loc = 0x01,
  cfa_advance_loc1 = 0x02,
  cfa_advance_loc2 = 0x03,
  cfa_advance_loc4 = 0x04,
  cfa_offset_extended = 0x05,
  cfa_restore_extended = 0x06,
  cfa_undefined = 0x07,
  cfa_same_value = 0x08,
  cfa_register = 0x09,
  cfa_remember_state = 0x0a,
  cfa_restore_state = 0x0b,
  cfa_def_cfa = 0x0c,
  cfa_def_cfa_register = 0x0d,
  cfa_def_cfa_offset = 0x0e,
  cfa_def_cfa_expression = 0x0f,
  cfa_expression = 0x10,
  cfa_offset_extended_sf = 0x11,
  cfa_def_cfa_sf = 0x12,
  cfa_def_cfa_offset_sf = 0x13,
  cfa_val_offset = 0x14,
  cfa_val_offset_sf = 0x15,
  cfa_val_expression = 0x16,
  cfa_gnu_args_size = 0x2e,
  cfa_gnu_negative_offset_extended = 0x2f,
  cfa_advance_loc = 0x40,  // these three with an operand in their low 6 bits
  cfa_offset = 0x80,
  cfa_restore = 0xc0,
};

using Kind = CfiRule::Kind;

/// Runs the instructions of one CIE or FDE over a row.
class Program {
 public:
  Program(std::span<const std::byte> section, const CfiFunction& function, std::uint64_t pc)
      : section_(section), common_(function.common), pc_(pc), at_(function.begin) {
    row_.begin = function.begin;
    row_.end = function.end;
    row_.return_address = common_.return_address;
    row_.is_signal_frame = common_.is_signal_frame;
  }

  bool run(std::size_t begin, std::size_t end) {
    if (begin > end || end > section_.size() || end - begin > max_program_bytes) return false;
    ByteCursor cursor(section_.first(end), begin);
    while (!cursor.is_at_end() && !is_done_)
      if (!step(cursor) || cursor.has_failed()) return false;
    return true;
  }

  /// Keeps the row as the CIE leaves it: DW_CFA_restore goes back to it.
  void keep_initial() { initial_ = row_; }
  const CfiRow& row() const { return row_; }

 private:
  bool step(ByteCursor& cursor) {
    const auto instruction = cursor.get<std::uint8_t>();
    const std::uint64_t operand = instruction & 0x3f;
    switch (instruction & 0xc0) {
      case cfa_advance_loc:
        return advance(operand);
      case cfa_offset:
        return set_offset(operand, Kind::at_offset, factored(cursor.uleb()));
      case cfa_restore:
        return restore(operand);
      default:
        break;
    }
    if (instruction >= cfa_set_loc && instruction <= cfa_advance_loc4)
      return move(instruction, cursor);
    if (instruction >= cfa_def_cfa && instruction <= cfa_def_cfa_expression)
      return define_cfa(instruction, cursor);
    return set_rule(instruction, cursor);
  }

  bool move(std::uint8_t instruction, ByteCursor& cursor) {
    switch (instruction) {
      case cfa_advance_loc1:
        return advance(cursor.get<std::uint8_t>());
      case cfa_advance_loc2:
        return advance(cursor.get<std::uint16_t>());
      case cfa_advance_loc4:
        return advance(cursor.get<std::uint32_t>());
      default:
        break;
    }
    const auto location = common_.code_pointers.read(cursor);
    if (!location || *location < at_) return false;
    return move_to(*location);
  }

  bool advance(std::uint64_t delta) {
    std::uint64_t bytes, location;
    if (__builtin_mul_overflow(delta, common_.code_align, &bytes) ||
        __builtin_add_overflow(at_, bytes, &location))
      return false;
    return move_to(location);
  }

  bool move_to(std::uint64_t location) {
    if (location > pc_) {
      row_.end = std::min(row_.end, location);
      is_done_ = true;
    } else {
      at_ = row_.begin = location;
    }
    return true;
  }

  bool define_cfa(std::uint8_t instruction, ByteCursor& cursor) {
    switch (instruction) {
      case cfa_def_cfa: {
        const std::uint64_t base = cursor.uleb();
        return set_cfa(base, static_cast<std::int64_t>(cursor.uleb()));
      }
      case cfa_def_cfa_register:
        return set_cfa(cursor.uleb(), row_.cfa.kind == Kind::in_register ? row_.cfa.value : 0);
      case cfa_def_cfa_offset:
        return set_cfa_offset(static_cast<std::int64_t>(cursor.uleb()));
      default:
        return set_expression(row_.cfa, Kind::expression, cursor);
    }
  }

  bool set_rule(std::uint8_t instruction, ByteCursor& cursor) {
    if (instruction == 0) return true;
    if (instruction == cfa_remember_state) {
      if (remembered_.size() >= max_remembered) return false;
      remembered_.push_back(row_);
      return true;
    }
    if (instruction == cfa_restore_state) return restore_state();
    if (instruction == cfa_def_cfa_offset_sf) {
      const auto offset = factored(cursor.sleb());
      return offset && set_cfa_offset(*offset);
    }
    const std::uint64_t which = cursor.uleb();  // the operand, if the instruction has no register
    switch (instruction) {
      case cfa_offset_extended:
        return set_offset(which, Kind::at_offset, factored(cursor.uleb()));
      case cfa_offset_extended_sf:
        return set_offset(which, Kind::at_offset, factored(cursor.sleb()));
      case cfa_gnu_negative_offset_extended:
        return set_offset(which, Kind::at_offset, factored(-static_cast<__int128>(cursor.uleb())));
      case cfa_val_offset:
        return set_offset(which, Kind::offset, factored(cursor.uleb()));
      case cfa_val_offset_sf:
        return set_offset(which, Kind::offset, factored(cursor.sleb()));
      case cfa_restore_extended:
        return restore(which);
      case cfa_undefined:
        return set(which, {.kind = Kind::undefined});
      case cfa_same_value:
        return set(which, {.kind = Kind::same});
      case cfa_register: {
        const std::uint64_t base = cursor.uleb();
        if (base >= register_count) return set(which, {.kind = Kind::undefined});
        return set(which, {.kind = Kind::in_register, .base = Register(base)});
      }
      case cfa_expression:
      case cfa_val_expression: {
        CfiRule rule;
        return set_expression(
                   rule, instruction == cfa_expression ? Kind::at_expression : Kind::expression,
                   cursor) &&
               set(which, rule);
      }
      case cfa_def_cfa_sf:
        return set_cfa(which, factored(cursor.sleb()));
      case cfa_gnu_args_size:
        return true;
      default:
        return false;
    }
  }

  template <typename Integer>
  std::optional<std::int64_t> factored(Integer value) const {
    const __int128 product = static_cast<__int128>(value) * common_.data_align;
    if (product < std::numeric_limits<std::int32_t>::min() ||
        product > std::numeric_limits<std::int32_t>::max())
      return std::nullopt;
    return static_cast<std::int64_t>(product);
  }

  bool set(std::uint64_t which, const CfiRule& rule) {
    // Other registers, such as vector registers, are valid but not needed.
    if (which < register_count) row_.rules[which] = rule;
    return true;
  }

  bool set_offset(std::uint64_t which, Kind kind, std::optional<std::int64_t> offset) {
    if (!offset) return false;
    return set(which, {.kind = kind, .value = static_cast<std::int32_t>(*offset)});
  }

  bool set_cfa(std::uint64_t base, std::optional<std::int64_t> offset) {
    if (base >= register_count || !offset) return false;
    row_.cfa = {.kind = Kind::in_register, .base = Register(base)};
    return set_cfa_offset(*offset);
  }

  bool set_cfa_offset(std::int64_t offset) {
    if (row_.cfa.kind != Kind::in_register ||
        offset != std::int64_t{static_cast<std::int32_t>(offset)})
      return false;
    row_.cfa.value = static_cast<std::int32_t>(offset);
    return true;
  }

  static bool set_expression(CfiRule& rule, Kind kind, ByteCursor& cursor) {
    const std::uint64_t size = cursor.uleb();
    const std::size_t begin = cursor.position();
    cursor.skip(size);
    if (cursor.has_failed() || size > longest_expression ||
        begin > std::numeric_limits<std::int32_t>::max())
      return false;
    rule = {.kind = kind,
            .size = static_cast<std::uint16_t>(size),
            .value = static_cast<std::int32_t>(begin)};
    return true;
  }

  bool restore(std::uint64_t which) {
    return set(which, which < register_count ? initial_.rules[which] : CfiRule());
  }

  // Restores the CFA too, but not the location.
  bool restore_state() {
    if (remembered_.empty()) return false;
    row_.cfa = remembered_.back().cfa;
    row_.rules = remembered_.back().rules;
    remembered_.pop_back();
    return true;
  }

  std::span<const std::byte> section_;
  const CfiCommon& common_;
  std::uint64_t pc_;
  std::uint64_t at_;
  CfiRow row_, initial_;
  std::vector<CfiRow> remembered_;
  bool is_done_ = false;
};

}  // namespace

std::optional<std::uint64_t> PointerReader::read_value(ByteCursor& cursor) const {
  const auto widened = [](auto value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  };
  std::uint64_t value = 0;
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = cursor.get<std::uint64_t>();
      break;
    case 0x01:
      value = cursor.uleb();
      break;
    case 0x02:
      value = cursor.get<std::uint16_t>();
      break;
    case 0x03:
      value = cursor.get<std::uint32_t>();
      break;
    case 0x09:
      value = widened(cursor.sleb());
      break;
    case 0x0a:
      value = widened(cursor.get<std::int16_t>());
      break;
    case 0x0b:
      value = widened(cursor.get<std::int32_t>());
      break;
    default:
      cursor.fail();
      break;
  }
  if (cursor.has_failed()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> PointerReader::read(ByteCursor& cursor) const {
  if (encoding == 0x50) {  // DW_EH_PE_aligned: absolute, at the next multiple of its size
    const std::uint64_t at = section_address + cursor.position();
    cursor.skip(-at & 7);
    const auto value = cursor.get<std::uint64_t>();
    if (cursor.has_failed()) return std::nullopt;
    return value;
  }
  const std::uint64_t here = section_address + cursor.position();
  const auto value = read_value(cursor);
  if (!value) return std::nullopt;
  std::optional<std::uint64_t> base;
  switch (encoding & 0x70) {
    case 0x00:
      base = 0;
      break;
    case 0x10:
      base = here;
      break;
    case 0x20:
      base = text_base;
      break;
    case 0x30:
      base = data_base;
      break;
    default:
      break;
  }
  if (!base) {
    cursor.fail();
    return std::nullopt;
  }
  return *base + *value;
}

std::optional<CfiRow> row_of(std::span<const std::byte> section, const CfiFunction& function,
                             std::uint64_t pc) {
  Program program(section, function, pc);
  if (!program.run(function.common.program_begin, function.common.program_end)) return std::nullopt;
  program.keep_initial();
  if (!program.run(function.program_begin, function.program_end)) return std::nullopt;
  const CfiRow& row = program.row();
  if (row.cfa.kind != Kind::in_register && row.cfa.kind != Kind::expression) return std::nullopt;
  return row;
}

}  // namespace overdue
