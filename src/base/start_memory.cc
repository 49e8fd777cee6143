#include "base/start_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace overdue {
namespace {

constexpr int large_block = 256 << 10, kept_free = 4 << 20, room_to_grow = 1 << 20;
constexpr int block_at_start = 32 << 20;  // glibc allows no more
constexpr int room_at_start = 32 << 20, kept_at_start = 1 << 30;
constexpr std::uintptr_t huge_page = 2 << 20;

/// The free end of the heap gets huge pages, where the kernel gives them on request. A failure
/// costs time alone.
void ask_for_huge_pages() {
  void* const block = std::malloc(room_at_start / 2);
  const auto begin = (reinterpret_cast<std::uintptr_t>(block) + huge_page - 1) & ~(huge_page - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0)) & ~(huge_page - 1);
  if (block && begin < end && end - begin <= 2 * static_cast<std::uintptr_t>(room_at_start))
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  std::free(block);
}

}  // namespace

StartMemory::StartMemory() {
  mallopt(M_MMAP_THRESHOLD, block_at_start);
  mallopt(M_TRIM_THRESHOLD, kept_at_start);
  mallopt(M_TOP_PAD, room_at_start);
  ask_for_huge_pages();
}

StartMemory::~StartMemory() {
  mallopt(M_TOP_PAD, room_to_grow);
  mallopt(M_TRIM_THRESHOLD, kept_free);
  give_back_large_blocks();
  malloc_trim(0);
}

void StartMemory::give_back_large_blocks() {
  mallopt(M_MMAP_THRESHOLD, large_block);
}

}  // namespace overdue
