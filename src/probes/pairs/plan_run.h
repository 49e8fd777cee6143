// SPDX-License-Identifier: GPL-2.0
// The stack machine. The including file defines plan_read() and plan_builtin_value().
#pragma once

#include "probes/pairs/plan.h"

// The steps that change the value on top. `top` is its index.
static PLAN_INLINE void plan_change_top(const PLAN_STEP* step, struct plan_values* v, u32 top) {
  u64 value = v->value[top];
  if (step->operation == PLAN_LOAD) {
    u64 raw = 0;
    v->bad[top] |= plan_read(step, value + (u64)(s64)step->offset, &raw);
    v->value[top] = plan_extend(raw, step->size, step->is_signed);
  } else if (step->operation == PLAN_NOT) {
    v->value[top] = plan_is_0(value);
  } else if (step->operation == PLAN_KNOWN) {
    v->value[top] = value & (v->bad[top] - 1);
    v->bad[top] = 0;
  } else {
    value <<= step->offset & 63;
    v->value[top] =
        step->is_signed ? (u64)((s64)value >> (step->operand & 63)) : value >> (step->operand & 63);
  }
}

static PLAN_INLINE void plan_match(const PLAN_STEP* step, struct plan_values* v, u32 address,
                                   u32 top) {
  u64 raw = 0;
  v->bad[top] |= v->bad[address];
  // Text that already differs is not read further: there may be no memory after its end.
  if (!v->value[top]) return;
  v->bad[top] |= plan_read(step, v->value[address] + (u64)(s64)step->offset, &raw);
  v->value[top] = plan_is_0(plan_extend(raw, step->size, 0) ^ step->operand);
}

// Whether the filter may still hold. An unknown term leaves this to the terms that follow.
static PLAN_INLINE int plan_passes(struct plan_values* v, u32 top) {
  if (!v->bad[top] && !v->value[top]) {
    v->result[PLAN_FILTER] = 0;
    v->unread = 0;
    return 0;
  }
  v->result[PLAN_FILTER] = 1;
  v->unread |= v->bad[top] << PLAN_FILTER;
  return 1;
}

static PLAN_INLINE void plan_run(const PLAN* plan, void* ctx, struct plan_values* v) {
  u32 depth = 0;  // values on the stack
  for (u32 i = 0; i < PLAN_STEPS; i++) {
    const PLAN_STEP* step = &plan->steps[i];
    u32 top = (depth - 1) & (PLAN_STACK - 1);
    u32 below = (depth - 2) & (PLAN_STACK - 1);
    u32 above = depth & (PLAN_STACK - 1);
    u8 operation = step->operation;
    if (operation == PLAN_END) break;
    if (operation <= PLAN_BUILTIN) {
      v->bad[above] = 0;
      if (operation == PLAN_CONSTANT)
        v->value[above] = step->operand;
      else if (step->operand == PLAN_CONTEXT)
        v->value[above] = (u64)ctx;
      else
        v->value[above] = plan_builtin_value(step->operand);
      depth++;
    } else if (operation == PLAN_LOAD || operation == PLAN_NOT || operation == PLAN_FIELD ||
               operation == PLAN_KNOWN) {
      plan_change_top(step, v, top);
    } else if (operation == PLAN_MATCH) {
      plan_match(step, v, below, top);
    } else if (operation == PLAN_UNDER) {
      v->value[below] = v->value[top];
      v->bad[below] = v->bad[top];
      depth--;
    } else if (operation == PLAN_GUARD) {
      if (!plan_passes(v, top)) break;
      depth--;
    } else if (operation == PLAN_RESULT) {
      u32 result = (u32)step->operand;
      if (result < PLAN_RESULTS) {
        v->result[result] = v->value[top];
        v->unread |= v->bad[top] << result;
      }
      depth--;
    } else {
      u64 bad = plan_is_bad(step, v, below, top);
      v->value[below] = plan_combine(step, v->value[below], v->value[top]);
      v->bad[below] = bad;
      depth--;
    }
  }
}
