#include "unwind/expression.h"

#include <array>
#include <limits>

#include "unwind/byte_cursor.h"

namespace overdue {
namespace {

constexpr std::size_t max_values = 64;
constexpr int max_steps = 1000;  // branches may go back

enum : std::uint8_t {
  op_deref = 0x06,
  op_const1u = 0x08,
  op_consts = 0x11,
  op_dup = 0x12,
  op_drop = 0x13,
  op_over = 0x14,
  op_pick = 0x15,
  op_swap = 0x16,
  op_rot = 0x17,
  op_abs = 0x19,
  op_and = 0x1a,
  op_div = 0x1b,
  op_minus = 0x1c,
  op_mod = 0x1d,
  op_mul = 0x1e,
  op_neg = 0x1f,
  op_not = 0x20,
  op_or = 0x21,
  op_plus = 0x22,
  op_plus_uconst = 0x23,
  op_shl = 0x24,
  op_shr = 0x25,
  op_shra = 0x26,
  op_xor = 0x27,
  op_bra = 0x28,
  op_eq = 0x29,
  op_ge = 0x2a,
  op_gt = 0x2b,
  op_le = 0x2c,
  op_lt = 0x2d,
  op_ne = 0x2e,
  op_skip = 0x2f,
  op_lit0 = 0x30,
  op_breg0 = 0x70,
  op_bregx = 0x92,
  op_deref_size = 0x94,
  op_nop = 0x96,
};

class Evaluation {
 public:
  Evaluation(std::span<const std::byte> code, const Registers& registers, const StackCopy& stack)
      : code_(code), cursor_(code), registers_(registers), stack_(stack) {}

  void push(std::uint64_t value) {
    if (depth_ == max_values)
      cursor_.fail();
    else
      values_[depth_++] = value;
  }

  std::optional<std::uint64_t> run() {
    for (int steps = 0; !cursor_.is_at_end(); ++steps) {
      if (steps == max_steps) return std::nullopt;
      step(cursor_.get<std::uint8_t>());
    }
    if (cursor_.has_failed() || depth_ == 0) return std::nullopt;
    return values_[depth_ - 1];
  }

 private:
  std::uint64_t pop() {
    if (depth_ == 0) {
      cursor_.fail();
      return 0;
    }
    return values_[--depth_];
  }
  /// The value below `above` others.
  std::uint64_t peek(std::size_t above) {
    if (above >= depth_) {
      cursor_.fail();
      return 0;
    }
    return values_[depth_ - 1 - above];
  }

  void step(std::uint8_t op) {
    if (op >= op_lit0 && op < op_lit0 + 32) return push(op - op_lit0);
    if (op >= op_breg0 && op < op_breg0 + 32) return push_register(op - op_breg0);
    if (op >= op_const1u && op <= op_consts) return push_constant(op);
    if (op >= op_dup && op <= op_rot) return shuffle(op);
    if (op >= op_eq && op <= op_ne) return compare(op);
    switch (op) {
      case op_bregx:
        return push_register(cursor_.uleb());
      case op_deref:
        return dereference(8);
      case op_deref_size:
        return dereference(cursor_.get<std::uint8_t>());
      case op_abs: {
        const std::uint64_t value = pop();
        return push(static_cast<std::int64_t>(value) < 0 ? -value : value);
      }
      case op_neg:
        return push(-pop());
      case op_not:
        return push(~pop());
      case op_plus_uconst: {
        const std::uint64_t constant = cursor_.uleb();
        return push(pop() + constant);
      }
      case op_skip:
        return branch(cursor_.get<std::int16_t>());
      case op_bra: {
        const auto distance = cursor_.get<std::int16_t>();
        if (pop() != 0) branch(distance);
        return;
      }
      case op_nop:
        return;
      default:
        return calculate(op);
    }
  }

  void push_register(std::uint64_t number) {
    const std::int64_t offset = cursor_.sleb();
    const auto value = number < register_count ? registers_.get(Register(number)) : std::nullopt;
    if (!value) return cursor_.fail();
    push(*value + static_cast<std::uint64_t>(offset));
  }

  template <typename T>
  void push_as() {
    push(static_cast<std::uint64_t>(static_cast<std::int64_t>(cursor_.get<T>())));
  }

  void push_constant(std::uint8_t op) {
    switch (op - op_const1u) {
      case 0:
        return push_as<std::uint8_t>();
      case 1:
        return push_as<std::int8_t>();
      case 2:
        return push_as<std::uint16_t>();
      case 3:
        return push_as<std::int16_t>();
      case 4:
        return push_as<std::uint32_t>();
      case 5:
        return push_as<std::int32_t>();
      case 6:
      case 7:
        return push_as<std::uint64_t>();
      case 8:
        return push(cursor_.uleb());
      default:
        return push(static_cast<std::uint64_t>(cursor_.sleb()));
    }
  }

  void dereference(unsigned size) {
    const bool is_size = size == 1 || size == 2 || size == 4 || size == 8;
    const auto value = is_size ? stack_.read(pop(), size) : std::nullopt;
    if (!value) return cursor_.fail();
    push(*value);
  }

  void shuffle(std::uint8_t op) {
    switch (op) {
      case op_dup:
        return push(peek(0));
      case op_drop:
        pop();
        return;
      case op_over:
        return push(peek(1));
      case op_pick:
        return push(peek(cursor_.get<std::uint8_t>()));
      default:
        break;
    }
    const std::uint64_t top = pop(), second = pop();
    if (op == op_swap) {
      push(top);
      return push(second);
    }
    const std::uint64_t third = pop();
    push(top);
    push(third);
    push(second);
  }

  void compare(std::uint8_t op) {
    const auto right = static_cast<std::int64_t>(pop()), left = static_cast<std::int64_t>(pop());
    switch (op) {
      case op_eq:
        return push(left == right);
      case op_ge:
        return push(left >= right);
      case op_gt:
        return push(left > right);
      case op_le:
        return push(left <= right);
      case op_lt:
        return push(left < right);
      default:
        return push(left != right);
    }
  }

  void calculate(std::uint8_t op) {
    const std::uint64_t right = pop(), left = pop();
    const auto signed_left = static_cast<std::int64_t>(left);
    const auto signed_right = static_cast<std::int64_t>(right);
    switch (op) {
      case op_and:
        return push(left & right);
      case op_or:
        return push(left | right);
      case op_xor:
        return push(left ^ right);
      case op_plus:
        return push(left + right);
      case op_minus:
        return push(left - right);
      case op_mul:
        return push(left * right);
      case op_shl:
        return push(right < 64 ? left << right : 0);
      case op_shr:
        return push(right < 64 ? left >> right : 0);
      case op_shra:
        return push(static_cast<std::uint64_t>(signed_left >> (right < 64 ? right : 63)));
      case op_mod:
        if (right == 0) break;
        return push(left % right);
      case op_div:
        if (right == 0) break;
        if (signed_right == -1) return push(-left);  // the lowest number / -1 would overflow
        return push(static_cast<std::uint64_t>(signed_left / signed_right));
      default:
        break;
    }
    cursor_.fail();
  }

  void branch(std::int16_t distance) {
    const std::int64_t to = static_cast<std::int64_t>(cursor_.position()) + distance;
    if (cursor_.has_failed()) return;
    cursor_ = ByteCursor(
        code_, to < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(to));
  }

  std::span<const std::byte> code_;
  ByteCursor cursor_;
  const Registers& registers_;
  const StackCopy& stack_;
  std::array<std::uint64_t, max_values> values_{};
  std::size_t depth_ = 0;
};

}  // namespace

std::optional<std::uint64_t> evaluate(std::span<const std::byte> expression,
                                      const Registers& registers, const StackCopy& stack,
                                      std::optional<std::uint64_t> first) {
  Evaluation evaluation(expression, registers, stack);
  if (first) evaluation.push(*first);
  return evaluation.run();
}

}  // namespace overdue
