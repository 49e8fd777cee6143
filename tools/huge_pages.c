// Preloaded into compilers by tools/build: large memory that they map becomes huge pages.
//
// g++ maps its memory 2 MiB at a time and reads it all over the place. On a virtual machine, half
// of its time can be misses of the TLB. glibc has an option for malloc() only.

#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static const size_t huge_page = 2 << 20;  // bytes; where huge pages are larger, the kernel decides

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  void* mapped = (void*)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
  if (mapped != MAP_FAILED && (flags & MAP_ANONYMOUS) && size >= huge_page) {
    const int error = errno;
    madvise(mapped, size, MADV_HUGEPAGE);  // advice: without huge pages, memory is what it was
    errno = error;
  }
  return mapped;
}

void* mmap64(void* address, size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));
