// SPDX-License-Identifier: GPL-2.0
// The compiled form of `--span` expressions: steps of a small stack machine. User space compiles
// them; the BPF program, which has them as constants, and a unit test run them. Free of branches
// where values are unknown, because the verifier follows every path.
#pragma once

#include "bpf/wire.h"

#define PLAN_STEPS 96  // for all expressions of one event
#define PLAN_STACK 8
#define PLAN_RESULTS 3

// In BPF the steps are constants that the loader has written, hence volatile to the compiler.
#ifdef __cplusplus
#define PLAN struct plan
#define PLAN_STEP struct plan_step
#define PLAN_INLINE inline
#define PLAN_OPAQUE(value)
#else
#define PLAN volatile struct plan
#define PLAN_STEP volatile struct plan_step
#define PLAN_INLINE __always_inline
#define PLAN_OPAQUE(value) asm volatile("" : "+r"(value))  // keeps the compiler from branching
#endif

enum plan_operation {
  PLAN_END = 0,
  PLAN_CONSTANT = 1,  // push operand
  PLAN_BUILTIN = 2,   // push enum plan_builtin
  PLAN_LOAD = 3,      // the top, an address, becomes the `size` bytes `offset` behind it
  PLAN_ADD = 4,       // from here on: pops two values, pushes one
  PLAN_SUBTRACT = 5,
  PLAN_AND = 6,
  PLAN_OR = 7,
  PLAN_XOR = 8,
  PLAN_SHIFT_LEFT = 9,
  PLAN_SHIFT_RIGHT = 10,  // arithmetic if `is_signed`
  PLAN_EQUAL = 11,
  PLAN_LESS = 12,    // signed if `is_signed`
  PLAN_BOTH = 13,    // &&
  PLAN_EITHER = 14,  // ||
  PLAN_NOT = 15,     // the top becomes 1 if it is 0, else 0
  PLAN_FIELD = 16,   // the top, a bit field: shifted left by `offset`, then right by `operand`
  PLAN_MATCH = 17,   // the top stays 1 if the `size` bytes `offset` behind the address below it are
                     // `operand`, else it becomes 0
  PLAN_UNDER = 18,   // drops the value below the top
  PLAN_RESULT = 19,  // pops into result `operand`
  PLAN_GUARD = 20,   // pops a term of the filter: if it is 0, the filter is 0, and nothing follows
  PLAN_KNOWN = 21,   // the top becomes 0 if it is unknown
};

enum plan_builtin {
  PLAN_CONTEXT = 0,  // address of the event's own bytes: arguments or registers
  PLAN_PID = 1,
  PLAN_TID = 2,
  PLAN_CPU = 3,
  PLAN_TASK = 4,            // address of the current task_struct
  PLAN_USER_REGISTERS = 5,  // address of the current thread's registers in user space
};

enum plan_result { PLAN_KEY = 0, PLAN_SECOND_KEY = 1, PLAN_FILTER = 2 };
enum plan_memory { PLAN_KERNEL = 0, PLAN_USER = 1 };

struct plan_step {
  u8 operation;
  u8 size;
  u8 is_signed;
  u8 memory;
  s32 offset;
  u64 operand;
};
WIRE_SIZE(struct plan_step, 16);

struct plan {
  struct plan_step steps[PLAN_STEPS];
};
WIRE_SIZE(struct plan, 1536);

// Values, and for each whether a read on the way to it failed.
struct plan_values {
  u64 value[PLAN_STACK];
  u64 bad[PLAN_STACK];
  u64 result[PLAN_RESULTS];
  u64 unread;  // bit i: result i
};

// The result of a read of 1, 2, 4 or 8 bytes, extended to 64 bits.
static PLAN_INLINE u64 plan_extend(u64 raw, u8 size, u8 is_signed) {
  u32 shift = 64 - 8 * (u32)size;
  if (!is_signed) return raw << shift >> shift;
  return (u64)((s64)(raw << shift) >> shift);
}

// Conditions are arithmetic (Warren, Hacker's Delight, 2-12). The verifier of Linux 6.18 may follow
// only one path of a branch that sets 1 or 0: it takes the value for a constant, and removes the
// code of the other path.
static PLAN_INLINE u64 plan_is_not_0(u64 value) {
  u64 negative = -value;
  PLAN_OPAQUE(negative);
  u64 is = (value | negative) >> 63;
  PLAN_OPAQUE(is);
  return is;
}

static PLAN_INLINE u64 plan_is_0(u64 value) {
  return plan_is_not_0(value) ^ 1;
}

static PLAN_INLINE u64 plan_is_less(u64 a, u64 b, u8 is_signed) {
  u64 sign = (u64)is_signed << 63;
  a ^= sign;
  b ^= sign;
  u64 difference = a - b;
  PLAN_OPAQUE(difference);
  u64 is = ((~a & b) | ((~a | b) & difference)) >> 63;
  PLAN_OPAQUE(is);
  return is;
}

// One of the operations that combine two values into one.
static PLAN_INLINE u64 plan_combine(const PLAN_STEP* step, u64 a, u64 b) {
  switch (step->operation) {
    case PLAN_ADD:
      return a + b;
    case PLAN_SUBTRACT:
      return a - b;
    case PLAN_AND:
      return a & b;
    case PLAN_OR:
      return a | b;
    case PLAN_XOR:
      return a ^ b;
    case PLAN_SHIFT_LEFT:
      return a << (b & 63);
    case PLAN_SHIFT_RIGHT:
      return step->is_signed ? (u64)((s64)a >> (b & 63)) : a >> (b & 63);
    case PLAN_EQUAL:
      return plan_is_0(a ^ b);
    case PLAN_LESS:
      return plan_is_less(a, b, step->is_signed);
    case PLAN_BOTH:
      return plan_is_not_0(a) & plan_is_not_0(b);
    default:
      return plan_is_not_0(a) | plan_is_not_0(b);
  }
}

// Whether a combined value is unknown: if either part is, except that a known part of && or || can
// decide alone (`rq->bio && rq->bio->bi_opf` of a request without a bio is 0).
static PLAN_INLINE u64 plan_is_bad(const PLAN_STEP* step, const struct plan_values* v, u32 a,
                                   u32 b) {
  u64 bad = v->bad[a] | v->bad[b];
  u64 decisive = step->operation == PLAN_EITHER ? 1 : 0;
  u64 decided = 0;
  if (step->operation == PLAN_BOTH || step->operation == PLAN_EITHER)
    decided = ((plan_is_0(v->value[a]) ^ decisive) & (v->bad[a] ^ 1)) |
              ((plan_is_0(v->value[b]) ^ decisive) & (v->bad[b] ^ 1));
  return bad & (decided ^ 1);
}
