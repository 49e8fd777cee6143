/* SPDX-License-Identifier: Apache-2.0 */
/* liboverdue-timerlat: a thread of an application waits for a periodic timer, as a thread that
 * reads the kernel's timerlat_fd does, on kernels without one. It learns how late it was back in
 * its program each time, and how late it was done. What made it late, `overdue timerlat --pid PID`
 * tells meanwhile: until the interrupt, in the handler, in the run queue, on the way back.
 *
 * Nothing is needed but Linux and a C library: no rights, no thread of its own, no memory beyond
 * one allocation. Every function is for the one thread that has opened the handle. Functions that
 * fail return a negative errno and change nothing. */
#ifndef OVERDUE_TIMERLAT_H
#define OVERDUE_TIMERLAT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define OVERDUE_TIMERLAT_API __attribute__((visibility("default")))
#else
#define OVERDUE_TIMERLAT_API
#endif

#define OVERDUE_TIMERLAT_PERIOD_MIN_NS UINT64_C(100000)        /* as the kernel's tracer: 100 us */
#define OVERDUE_TIMERLAT_PERIOD_MAX_NS UINT64_C(1000000000000) /* 1000 s */

struct overdue_timerlat;

/* One wait. Times are of CLOCK_MONOTONIC, in nanoseconds. */
struct overdue_timerlat_activation {
  uint64_t number;     /* of this wait, from 1 */
  uint64_t expires_ns; /* the end of the period that was waited for: of those that ended since the
                          thread began to wait the first, else the last that is over */
  uint64_t user_ns;    /* from there until the thread was back in its program */
  uint64_t done_ns;    /* of the wait before: from its expiry until the thread waited again, the
                          kernel's "user-ret"; 0 for the first wait */
  uint64_t missed;     /* further periods that have ended since the wait before: while the thread
                          was still at work, or late */
};

/* For the calling thread, which must be able to run on `cpu` only, as with the kernel's file: a
 * timer is about a CPU. The first period begins now. Stores the handle in `*opened`.
 * -EINVAL: a period beyond the limits above, or no such CPU; -EPERM: the thread may run on other
 * CPUs; -ENOMEM, -EMFILE, -ENFILE: none left. */
OVERDUE_TIMERLAT_API int overdue_timerlat_open(unsigned int cpu, uint64_t period_ns,
                                               struct overdue_timerlat** opened);

/* Sleeps until the period that goes on is over, or returns at once where one was over already.
 * Stores what there is to say of it in `*activation`, unless that is null.
 * -EINTR: a signal's handler ran; call it again. */
OVERDUE_TIMERLAT_API int overdue_timerlat_wait(struct overdue_timerlat* timer,
                                               struct overdue_timerlat_activation* activation);

/* A descriptor that poll(2) and epoll(7) find readable when a wait would return at once. It remains
 * the handle's: not to be read, not to be closed. */
OVERDUE_TIMERLAT_API int overdue_timerlat_fd(const struct overdue_timerlat* timer);

/* Closes the handle; null is allowed. */
OVERDUE_TIMERLAT_API void overdue_timerlat_close(struct overdue_timerlat* timer);

#ifdef __cplusplus
}
#endif

#endif
