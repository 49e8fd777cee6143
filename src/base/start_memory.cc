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
  char* const block = static_cast<char*>(std::malloc(room_at_start / 2));
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const std::uintptr_t skipped = (huge_page - address % huge_page) % huge_page;
  // Without a heap, as under a sanitizer, the block is elsewhere.
  const bool is_in_heap = block && address + skipped < end &&
                          end - address <= 2 * static_cast<std::uintptr_t>(room_at_start);
  if (is_in_heap)
    madvise(block + skipped, (end - address - skipped) / huge_page * huge_page, MADV_HUGEPAGE);
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
