/* SPDX-License-Identifier: Apache-2.0 */
/* liboverdue-timerlat: a thread of an application waits for a periodic timer, as a reader of the
 * kernel's timerlat_fd does, also on kernels without that file. After each wait the thread learns
 * how late it was back in its program, and how late the work before was done. Meanwhile
 * `overdue timerlat --pid PID` shows where the latency arose: before the interrupt, in the handler,
 * in the run queue, on the way back.
 *
 * The library needs Linux and a C library: no privileges, no thread of its own, no memory beyond
 * one allocation. Only the thread that opened a handle may use the handle. A function that fails
 * returns a negative errno and changes nothing. */
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

#define OVERDUE_TIMERLAT_PERIOD_MIN_NS UINT64_C(100000)        /* 100 us, as the kernel's tracer */
#define OVERDUE_TIMERLAT_PERIOD_MAX_NS UINT64_C(1000000000000) /* 1000 s */

struct overdue_timerlat;

/* One wait. Times are of CLOCK_MONOTONIC, in nanoseconds. */
struct overdue_timerlat_activation {
  uint64_t number;     /* number of this wait, from 1 */
  uint64_t expires_ns; /* end of the period that the thread waited for: the first period that ended
                          after the thread began to wait, else the last that ended before */
  uint64_t user_ns;    /* time from expires_ns until the thread was back in its program */
  uint64_t done_ns;    /* time from the expiry of the previous wait until the thread waited again,
                          the kernel's "user-ret"; 0 for the first wait */
  uint64_t missed;     /* number of further periods that ended since the previous wait, while the
                          thread was still at work, or late */
};

/* Opens a timer for the calling thread, and stores the handle in `*opened`. The affinity of the
 * thread must be `cpu` alone, as with the kernel's file: a timer measures one CPU. The first period
 * begins with this call.
 * -EINVAL: the period is outside the limits above, or there is no such CPU; -EPERM: the thread may
 * run on other CPUs; -ENOMEM, -EMFILE, -ENFILE: no memory or no descriptor is left. */
OVERDUE_TIMERLAT_API int overdue_timerlat_open(unsigned int cpu, uint64_t period_ns,
                                               struct overdue_timerlat** opened);

/* Sleeps until the current period ends. Returns at once if a period has ended since the previous
 * wait. Stores the result in `*activation`, unless `activation` is null.
 * -EINTR: a signal handler ran; call the function again. */
OVERDUE_TIMERLAT_API int overdue_timerlat_wait(struct overdue_timerlat* timer,
                                               struct overdue_timerlat_activation* activation);

/* A descriptor that poll(2) and epoll(7) find readable when a wait would return at once. The handle
 * owns the descriptor: do not read or close it. */
OVERDUE_TIMERLAT_API int overdue_timerlat_fd(const struct overdue_timerlat* timer);

/* Closes the handle; null is allowed. */
OVERDUE_TIMERLAT_API void overdue_timerlat_close(struct overdue_timerlat* timer);

#ifdef __cplusplus
}
#endif

#endif
