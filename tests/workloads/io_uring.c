// io_uring TIMES: reads from pipes through io_uring's worker threads, each read late by 20 ms;
// prints the number of completed reads. Exits with 77 if the kernel does not allow io_uring.
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "workload.h"

static void* map(int ring, size_t size, long offset) {
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);
  if (memory == MAP_FAILED) fail("mmap");
  return memory;
}

int main(int argc, char** argv) {
  long times = number_argument(argc, argv, 1, 10), came = 0;
  struct io_uring_params params = {0};
  int ring = (int)syscall(SYS_io_uring_setup, 8, &params);
  if (ring < 0) return 77;
  char* submissions =
      map(ring, params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
  char* completions =
      map(ring, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
          IORING_OFF_CQ_RING);
  struct io_uring_sqe* entries =
      map(ring, params.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
  unsigned* tail = (unsigned*)(submissions + params.sq_off.tail);
  unsigned mask = *(unsigned*)(submissions + params.sq_off.ring_mask);
  unsigned* array = (unsigned*)(submissions + params.sq_off.array);
  unsigned* head = (unsigned*)(completions + params.cq_off.head);
  for (long i = 0; i < times; ++i) {
    int ends[2];
    static char byte;
    if (pipe(ends)) fail("pipe");
    unsigned slot = *tail & mask;
    entries[slot] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                          .flags = IOSQE_ASYNC,
                                          .fd = ends[0],
                                          .addr = (unsigned long)&byte,
                                          .len = 1};
    array[slot] = slot;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1) fail("submit");
    usleep(20000);
    if (write(ends[1], "x", 1) != 1) fail("write");
    if (syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) fail("wait");
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    ++came;
    close(ends[0]);
    close(ends[1]);
  }
  printf("%ld\n", came);
  return 0;
}
