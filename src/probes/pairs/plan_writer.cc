#include "probes/pairs/plan_writer.h"

#include <array>
#include <utility>

namespace overdue {

plan_operation operation_of(std::string_view operator_word) {
  constexpr std::array<std::pair<std::string_view, plan_operation>, 9> operations{
      {{"+", PLAN_ADD},
       {"-", PLAN_SUBTRACT},
       {"&", PLAN_AND},
       {"|", PLAN_OR},
       {"^", PLAN_XOR},
       {"<<", PLAN_SHIFT_LEFT},
       {">>", PLAN_SHIFT_RIGHT},
       {"&&", PLAN_BOTH},
       {"||", PLAN_EITHER}}};
  for (const auto& [text, operation] : operations)
    if (text == operator_word) return operation;
  return operator_word == "==" || operator_word == "!=" ? PLAN_EQUAL : PLAN_LESS;
}

void PlanWriter::emit(const Step& step, std::size_t at) {
  if (used_ + 1 >= PLAN_STEPS)
    throw text_.error(at, "key and filter together are too long for the kernel side",
                      "fewer terms and shorter texts take fewer steps");
  plan_.steps[used_++] = {.operation = static_cast<u8>(step.operation),
                          .size = static_cast<u8>(step.size),
                          .is_signed = step.is_signed,
                          .memory = static_cast<u8>(step.memory),
                          .offset = step.offset,
                          .operand = step.operand};
}

void PlanWriter::push(const Step& step, std::size_t at) {
  if (depth_ == PLAN_STACK)
    throw text_.error(at, "too many values are waiting for each other here",
                      "put what is in parentheses first: `(b + c) - a`, not `a - (b + c)`");
  ++depth_;
  emit(step, at);
}

void PlanWriter::combine(const Step& step, std::size_t at) {
  emit(step, at);
  --depth_;
}

}  // namespace overdue
