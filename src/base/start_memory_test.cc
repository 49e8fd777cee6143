#include "base/start_memory.h"

#include <malloc.h>

#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

namespace overdue {
namespace {

using Block = std::unique_ptr<void, decltype(&std::free)>;

Block block_of(std::size_t bytes) {
  return {std::malloc(bytes), std::free};
}

TEST(StartMemory, KeepsLargeBlocksForTheNextAndGivesThemBackAtTheEnd) {
  constexpr std::size_t large = 8 << 20;
  std::size_t kept = 0;
  {
    const StartMemory memory;
    const std::size_t mapped = mallinfo2().hblks;
    const Block block = block_of(large);
    ASSERT_TRUE(block);
    if (mallinfo2().arena == 0) GTEST_SKIP() << "a sanitizer has its own malloc()";
    EXPECT_EQ(mallinfo2().hblks, mapped) << "the block is in the heap";
    kept = mallinfo2().arena;
  }
  EXPECT_LT(mallinfo2().arena, kept - large);
  const std::size_t mapped = mallinfo2().hblks;
  const Block block = block_of(large);
  EXPECT_EQ(mallinfo2().hblks, mapped + 1) << "the block goes back when it is freed";
}

}  // namespace
}  // namespace overdue
