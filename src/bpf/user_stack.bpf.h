/* SPDX-License-Identifier: GPL-2.0 */
/* Copies of a thread's registers and stack, made in its own context. */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/span.h"

const volatile u32 user_stack_bytes; /* bytes of a user stack to copy; 0: none */

static __always_inline void copy_registers(struct user_registers* to, struct pt_regs* regs) {
  to->rax = regs->ax;
  to->rdx = regs->dx;
  to->rcx = regs->cx;
  to->rbx = regs->bx;
  to->rsi = regs->si;
  to->rdi = regs->di;
  to->rbp = regs->bp;
  to->rsp = regs->sp;
  to->r8 = regs->r8;
  to->r9 = regs->r9;
  to->r10 = regs->r10;
  to->r11 = regs->r11;
  to->r12 = regs->r12;
  to->r13 = regs->r13;
  to->r14 = regs->r14;
  to->r15 = regs->r15;
  to->rip = regs->ip;
}

/* Copies at most `limit` bytes, of a `most` that is a constant, into a buffer of `most` + 4096.
 * Copies page by page: a read across the end of the mapping would fail as a whole. */
static __always_inline u32 copy_pages(u8* to, u64 rsp, u32 limit, u32 most, u16* flags) {
  u32 copied = USER_RED_ZONE;
  bpf_probe_read_user(to, USER_RED_ZONE, (void*)(rsp - USER_RED_ZONE)); /* zeroes if it fails */
  for (u32 i = 0; i < most / 4096 + 1; i++) {
    u64 from = rsp - USER_RED_ZONE + copied;
    u32 chunk = 4096 - (from & 4095);
    if (copied >= limit || copied > most) {
      *flags |= SPAN_STACK_CUT;
      break;
    }
    if (chunk > limit - copied) chunk = limit - copied;
    barrier_var(chunk);
    if (chunk > 4096 || bpf_probe_read_user(to + copied, chunk, (void*)from)) break;
    copied += chunk;
  }
  return copied;
}

/* The size of the buffer of copy_user_stack(), in bytes. */
#define USER_STACK_ROOM (USER_STACK_MAX + 4096)

struct user_stack_room {
  u8 bytes[USER_STACK_ROOM];
};

/* Not static: the verifier checks the loop once, and what follows the copy for one size, not for
 * each. */
__noinline u32 copy_to_room(struct user_stack_room* to, u64 rsp, u32 limit, u16* flags) {
  return to && flags ? copy_pages(to->bytes, rsp, limit, USER_STACK_MAX, flags) : 0;
}

/* Copies at most `limit` bytes of a stack: the red zone below `rsp`, and what is above. Returns the
 * number of bytes. */
static __always_inline u32 copy_user_stack(u8* to, u64 rsp, u32 limit, u16* flags) {
  return copy_to_room((struct user_stack_room*)to, rsp, limit, flags);
}
