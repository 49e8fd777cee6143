#pragma once

#include <cstdint>
#include <string_view>

#include "probes/pairs/expression.h"
#include "probes/pairs/plan.h"

namespace overdue {

/// A plan_step in the making.
struct Step {
  plan_operation operation = PLAN_END;
  u32 size = 0;
  bool is_signed = false;
  plan_memory memory = PLAN_KERNEL;
  s32 offset = 0;
  u64 operand = 0;
};

/// The operation of a binary operator. The machine has one comparison of each kind: PLAN_EQUAL for
/// == and !=, PLAN_LESS for the others.
plan_operation operation_of(std::string_view operator_word);

/// Writes the steps of a plan, and checks its limits: throws Error if the plan is too long or needs
/// too many values at once. `at` is the position in the span's text that a step comes from.
class PlanWriter {
 public:
  explicit PlanWriter(std::string_view text) : text_(text) {}

  /// A step that changes the top.
  void emit(const Step& step, std::size_t at);
  /// … that adds a value.
  void push(const Step& step, std::size_t at);
  /// … that removes a value.
  void combine(const Step& step, std::size_t at);

  plan finish() const { return plan_; }

 private:
  SpanText text_;
  plan plan_{};
  std::size_t used_ = 0;
  unsigned depth_ = 0;
};

}  // namespace overdue
