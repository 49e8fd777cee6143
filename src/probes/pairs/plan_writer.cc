#include "probes/pairs/plan_writer.h"

namespace overdue {

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
