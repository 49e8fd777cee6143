#include "probes/pairs/compile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "probes/pairs/diagnostics.h"
#include "probes/pairs/plan_writer.h"

namespace overdue {
namespace {

/// The result of an expression: a value on the stack, or a place whose address is on the stack.
struct Operand {
  bool is_place = false;  ///< the top of the stack is an address, `offset` bytes before the place
  Type type = {};
  plan_memory memory = PLAN_KERNEL;  ///< memory of the place
  std::int64_t offset = 0;
  std::uint32_t bit = 0, bits = 0;  ///< a bit field: its first bit after `offset`, and its width
};

constexpr Type signed_number{.kind = Type::Kind::number, .size = 8, .is_signed = true};
constexpr Type truth = signed_number;

/// Values are 64 bits wide and compared as signed ones, unless one of them may not fit.
bool is_wide_unsigned(const Type& type) {
  return type.kind == Type::Kind::pointer || (!type.is_signed && type.size == 8);
}

class Compiler {
 public:
  Compiler(const PairSpec& spec, const EventSpec& event, const EventFields& fields,
           const KernelTypes& types)
      : text_(spec.text),
        fields_(fields),
        types_(types),
        diagnostics_(spec.text, event, fields, types),
        steps_(spec.text) {}

  void result(const Expression& expression, plan_result which) {
    value(expression);
    steps_.combine({.operation = PLAN_RESULT, .operand = which}, expression.at);
  }
  /// The terms of the filter, one by one: most events fail the first.
  void filter(const Expression& expression) {
    if (expression.kind == Expression::Kind::binary && expression.word == "&&") {
      for (const Expression& part : expression.parts) filter(part);
      return;
    }
    value(expression);
    steps_.combine({.operation = PLAN_GUARD}, expression.at);
  }
  plan finish() const { return steps_.finish(); }

 private:
  // Operands.

  /// Compiles an expression to a value on the stack.
  Type value(const Expression& expression) { return load(operand(expression), expression.at); }

  Type load(const Operand& from, std::size_t at) {
    if (from.type.kind == Type::Kind::record) throw diagnostics_.is_record(from.type, at);
    if (from.type.kind == Type::Kind::array)
      throw text_.error(at, "this is an array, not a number",
                        from.type.is_text ? "compare it with \"text\", or take one byte by [0]"
                                          : "take one of it by [0]");
    if (from.type.kind == Type::Kind::other)
      throw text_.error(at,
                        fmt::format("this is {}, and cannot be read", types_.describe(from.type)));
    if (!from.is_place) return from.type;
    if (from.bits > 0) return load_bits(from, at);
    steps_.emit({.operation = PLAN_LOAD,
                 .size = from.type.size,
                 .is_signed = from.type.is_signed,
                 .memory = from.memory,
                 .offset = offset_of(from.offset, at)},
                at);
    return from.type;
  }

  /// Loads the number that a bit field is part of, then extracts its bits.
  Type load_bits(const Operand& from, std::size_t at) {
    const std::uint32_t unit = from.type.size * 8;
    const std::uint32_t begin = from.bit / unit * unit;
    const std::uint32_t first = from.bit - begin;
    if (first + from.bits > 64)
      throw text_.error(at, "this bit field lies across two words, which cannot be read");
    const std::uint32_t bytes = first + from.bits <= unit ? from.type.size : 8;
    steps_.emit({.operation = PLAN_LOAD,
                 .size = bytes,
                 .memory = from.memory,
                 .offset = offset_of(from.offset + begin / 8, at)},
                at);
    steps_.emit({.operation = PLAN_FIELD,
                 .is_signed = from.type.is_signed,
                 .offset = static_cast<s32>(64 - first - from.bits),
                 .operand = 64 - from.bits},
                at);
    return from.type;
  }

  s32 offset_of(std::int64_t offset, std::size_t at) const {
    if (offset < INT32_MIN || offset > INT32_MAX) throw text_.error(at, "this is too far away");
    return static_cast<s32>(offset);
  }

  Operand operand(const Expression& expression) {
    switch (expression.kind) {
      case Expression::Kind::number:
        return constant(expression.number, expression.at);
      case Expression::Kind::name:
        return name(expression);
      case Expression::Kind::member:
        return member(expression);
      case Expression::Kind::index:
        return index(expression);
      case Expression::Kind::unary:
        return unary(expression);
      case Expression::Kind::binary:
        return binary(expression);
      case Expression::Kind::cast:
        return cast(expression);
      case Expression::Kind::read:
        return read(expression);
      case Expression::Kind::typed:
        return typed(expression);
      case Expression::Kind::text:
        break;
    }
    throw only_equal(expression);
  }

  Error only_equal(const Expression& text) const {
    return text_.error(text.at, "text can be compared with == and != only",
                       "for example comm == \"postgres\"");
  }

  Operand constant(std::uint64_t number, std::size_t at) {
    steps_.push({.operation = PLAN_CONSTANT, .operand = number}, at);
    Type type = signed_number;
    type.is_signed = number <= INT64_MAX;
    return {.type = type};
  }

  Operand name(const Expression& expression) {
    const std::string_view word = expression.word;
    const std::size_t at = expression.at;
    if (word == "pid") return builtin(PLAN_PID, {.size = 4}, at);
    if (word == "tid") return builtin(PLAN_TID, {.size = 4}, at);
    if (word == "cpu") return builtin(PLAN_CPU, {.size = 4}, at);
    if (word == "comm" || word == "current") return of_current(word, at);
    if (word == "user_regs") return pointer_to("pt_regs", PLAN_USER_REGISTERS, at);
    if (const EventField* field = fields_.find(word)) return of_event(*field, at);
    if (const auto number = types_.constant(word))
      return constant(static_cast<std::uint64_t>(*number), at);
    throw diagnostics_.no_field(word, at);
  }

  Operand builtin(plan_builtin which, const Type& type, std::size_t at) {
    steps_.push({.operation = PLAN_BUILTIN, .operand = which}, at);
    return {.type = type};
  }

  Operand of_current(std::string_view word, std::size_t at) {
    const Operand current = pointer_to("task_struct", PLAN_TASK, at);
    return word == "current" ? current : member_of(current, word, at);
  }

  Operand pointer_to(const char* record, plan_builtin which, std::size_t at) {
    const std::optional<Type> type = types_.record(record);
    if (!type) throw text_.error(at, fmt::format("the kernel has no struct {}", record));
    return builtin(which, {.kind = Type::Kind::pointer, .size = 8, .inner = type->id}, at);
  }

  Operand of_event(const EventField& field, std::size_t at) {
    if (field.source == EventField::Source::usdt_argument) {
      if (!push_usdt_argument(steps_, field.argument, at))
        throw text_.error(at, fmt::format("{} is where it cannot be read", field.name),
                          "it is in a vector register, or named by a symbol");
      return {.type = field.type};
    }
    steps_.push({.operation = PLAN_BUILTIN, .operand = PLAN_CONTEXT}, at);
    const Operand place{
        .is_place = true, .type = field.type, .offset = static_cast<std::int64_t>(field.where)};
    if (field.source == EventField::Source::context) return place;
    // The lower half of a word there is the distance of the text from the event's begin.
    load({.is_place = true, .type = {.size = 4}, .offset = place.offset}, at);
    constant(0xffff, at);
    steps_.combine({.operation = PLAN_AND}, at);
    steps_.push({.operation = PLAN_BUILTIN, .operand = PLAN_CONTEXT}, at);
    steps_.combine({.operation = PLAN_ADD}, at);
    return {.is_place = true, .type = field.type};
  }

  Operand member(const Expression& expression) {
    const Expression& of = expression.parts[0];
    // `event.pid` is the event's own field, and `pid` alone is the built-in.
    if (of.kind == Expression::Kind::name && of.word == "event" && !fields_.find("event")) {
      const EventField* field = fields_.find(expression.word);
      if (!field) throw diagnostics_.no_field(expression.word, expression.at);
      return of_event(*field, expression.at);
    }
    return member_of(operand(of), expression.word, expression.at);
  }

  Operand member_of(Operand base, std::string_view word, std::size_t at) {
    if (base.type.kind == Type::Kind::pointer) base = follow(base, at);
    if (base.type.kind != Type::Kind::record)
      throw text_.error(at, fmt::format("what is before this is {}: it has no members",
                                        types_.describe(base.type)));
    const auto found = types_.member(base.type, word);
    if (!found) throw diagnostics_.no_member(base.type, word, at);
    base.type = found->type;
    base.type.memory = base.memory;
    if (found->bits > 0) {
      base.bit = found->bit_offset;
      base.bits = found->bits;
    } else {
      base.offset += found->bit_offset / 8;
    }
    return base;
  }

  /// The target of a pointer.
  Operand follow(const Operand& pointer, std::size_t at) {
    const Type target = types_.inner(load(pointer, at));
    return {.is_place = true, .type = target, .memory = pointer.type.memory};
  }

  Operand index(const Expression& expression) {
    Operand base = operand(expression.parts[0]);
    const std::size_t at = expression.at;
    if (base.type.kind != Type::Kind::pointer && base.type.kind != Type::Kind::array)
      throw text_.error(at, "what is before this is neither an array nor a pointer",
                        "read_u32(address) reads a number at an address");
    const std::uint32_t whole = base.type.kind == Type::Kind::array ? base.type.size : 0;
    Type element = types_.inner(base.type);
    if (element.kind == Type::Kind::other && base.type.is_text)
      element = {.kind = Type::Kind::number, .size = 1, .memory = base.type.memory};
    if (base.type.kind == Type::Kind::pointer) base = follow(base, at);
    if (element.size == 0) throw text_.error(at, "nothing is known of what is in there");
    if (expression.number > 1u << 24 ||
        (whole > 0 && (expression.number + 1) * element.size > whole))
      throw text_.error(at, fmt::format("there are only {} of them", whole / element.size));
    base.type = element;
    base.offset += static_cast<std::int64_t>(expression.number * element.size);
    return base;
  }

  Operand cast(const Expression& expression) {
    value(expression.parts[0]);
    const Type type = number_type(expression.word);
    steps_.emit({.operation = PLAN_FIELD,
                 .is_signed = type.is_signed,
                 .offset = static_cast<s32>(64 - 8 * type.size),
                 .operand = 64 - 8 * type.size},
                expression.at);
    return {.type = type};
  }

  Operand read(const Expression& expression) {
    const Type address = value(expression.parts[0]);
    const Operand place{.is_place = true,
                        .type = number_type(expression.word),
                        .memory = expression.number != 0                ? PLAN_USER
                                  : address.kind == Type::Kind::pointer ? address.memory
                                                                        : fields_.memory};
    return {.type = load(place, expression.at)};
  }

  Operand typed(const Expression& expression) {
    const std::optional<Type> record = types_.record(expression.word.c_str());
    if (!record)
      throw text_.error(expression.at, fmt::format("the kernel has no struct {}", expression.word));
    value(expression.parts[0]);
    return {.type = {.kind = Type::Kind::pointer, .size = 8, .inner = record->id}};
  }

  Operand unary(const Expression& expression) {
    const std::size_t at = expression.at;
    const bool is_not = expression.word == "!";
    if (is_not || expression.word == "known") {
      const Type type = value(expression.parts[0]);
      steps_.emit({.operation = is_not ? PLAN_NOT : PLAN_KNOWN}, at);
      return {.type = is_not ? truth : type};
    }
    // -x is 0 - x, ~x is x ^ -1.
    const bool minus = expression.word == "-";
    constant(minus ? 0 : ~std::uint64_t{0}, at);
    const Type type = value(expression.parts[0]);
    steps_.combine({.operation = minus ? PLAN_SUBTRACT : PLAN_XOR}, at);
    Type result = signed_number;
    result.is_signed = minus || !is_wide_unsigned(type);
    return {.type = result};
  }

  // Two operands.

  Operand binary(const Expression& expression) {
    const std::string_view word = expression.word;
    const Expression& left = expression.parts[0];
    const Expression& right = expression.parts[1];
    const bool equal = word == "==", unequal = word == "!=";
    if (equal || unequal) {
      if (right.kind == Expression::Kind::text) return compare_text(left, right, unequal);
      if (left.kind == Expression::Kind::text) return compare_text(right, left, unequal);
    }
    for (const Expression& part : expression.parts)
      if (part.kind == Expression::Kind::text) throw only_equal(part);
    // The machine has one comparison: a > b is b < a, and a <= b is not b < a.
    const bool turned = word == ">" || word == "<=";
    const Type first = value(turned ? right : left);
    const Type second = value(turned ? left : right);
    const bool is_signed = !is_wide_unsigned(first) && !is_wide_unsigned(second);
    const plan_operation operation = operation_of(word);
    steps_.combine(
        {.operation = operation,
         .is_signed = operation == PLAN_SHIFT_RIGHT ? !is_wide_unsigned(first) : is_signed},
        expression.at);
    if (unequal || word == "<=" || word == ">=")
      steps_.emit({.operation = PLAN_NOT}, expression.at);
    if (operation >= PLAN_EQUAL) return {.type = truth};
    Type result = signed_number;
    result.is_signed = is_signed;
    return {.type = result};
  }

  Operand compare_text(const Expression& what, const Expression& with, bool unequal) {
    if (what.kind == Expression::Kind::text)
      throw text_.error(what.at, "two texts are the same or not, whatever happens");
    Operand place = operand(what);
    std::string bytes = with.word;
    if (bytes.find('\0') != std::string::npos)
      throw text_.error(with.at, "a text ends at its first NUL");
    std::uint32_t room = 0;
    if (place.type.kind == Type::Kind::array && place.type.is_text)
      room = place.type.size;
    else
      place = text_at(place, what.at);
    if (room > 0 && bytes.size() > room)
      throw text_.error(with.at, fmt::format("this is {} bytes long, there is room for {} only",
                                             bytes.size(), room));
    if (room == 0 || bytes.size() < room) bytes.push_back('\0');
    constant(1, with.at);
    match(bytes, place, with.at);
    steps_.combine({.operation = PLAN_UNDER}, with.at);
    if (unequal) steps_.emit({.operation = PLAN_NOT}, with.at);
    return {.type = truth};
  }

  /// The text at the address that a value holds.
  Operand text_at(const Operand& pointer, std::size_t at) {
    const Type type = load(pointer, at);
    const bool untyped = fields_.is_untyped && type.kind == Type::Kind::number && type.size == 8;
    const bool to_text = type.kind == Type::Kind::pointer && (type.is_text || type.inner == 0);
    if (!untyped && !to_text)
      throw text_.error(at, fmt::format("this is {}, and no text", types_.describe(type)),
                        "arrays of char and pointers to char can be compared with text");
    return {.is_place = true, .type = type, .memory = untyped ? fields_.memory : type.memory};
  }

  void match(std::string_view bytes, const Operand& place, std::size_t at) {
    std::int64_t offset = place.offset;
    while (!bytes.empty()) {
      std::size_t size = 8;
      while (size > bytes.size()) size /= 2;
      u64 expected = 0;
      std::memcpy(&expected, bytes.data(), size);
      steps_.emit({.operation = PLAN_MATCH,
                   .size = static_cast<u32>(size),
                   .memory = place.memory,
                   .offset = offset_of(offset, at),
                   .operand = expected},
                  at);
      bytes.remove_prefix(size);
      offset += static_cast<std::int64_t>(size);
    }
  }

  SpanText text_;
  const EventFields& fields_;
  const KernelTypes& types_;
  Diagnostics diagnostics_;
  PlanWriter steps_;
};

}  // namespace

plan compile_side(const PairSpec& spec, const SideSpec& side, const EventSpec& event,
                  const EventFields& fields, const KernelTypes& types) {
  Compiler compiler(spec, event, fields, types);
  if (side.filter) compiler.filter(*side.filter);
  compiler.result(side.key[0], PLAN_KEY);
  if (side.key.size() > 1) compiler.result(side.key[1], PLAN_SECOND_KEY);
  return compiler.finish();
}

}  // namespace overdue
