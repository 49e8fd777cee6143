#include "kernel/record_fifo.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace overdue {
namespace {

constexpr std::size_t block_bytes = 1 << 20;

}  // namespace

RecordFifo::Head RecordFifo::head() const {
  Head found{};
  std::memcpy(&found, blocks_.front().memory.get() + blocks_.front().begin, sizeof found);
  return found;
}

std::span<const std::byte> RecordFifo::front() const {
  const Block& block = blocks_.front();
  return {block.memory.get() + block.begin + sizeof(Head), head().size};
}

void RecordFifo::add_block(std::size_t least) {
  if (spare_.size >= least) {
    blocks_.push_back(std::exchange(spare_, {}));
    return;
  }
  const std::size_t size = std::max(least, block_bytes);
  blocks_.push_back({.memory = std::make_unique_for_overwrite<std::byte[]>(size), .size = size});
}

void RecordFifo::push(std::uint64_t time_ns, std::span<const std::byte> record) {
  const Head head{.time_ns = time_ns, .size = record.size()};
  const std::size_t needed = sizeof head + record.size();
  if (blocks_.empty() || blocks_.back().size - blocks_.back().end < needed) add_block(needed);
  Block& block = blocks_.back();
  std::memcpy(block.memory.get() + block.end, &head, sizeof head);
  if (!record.empty())
    std::memcpy(block.memory.get() + block.end + sizeof head, record.data(), record.size());
  block.end += needed;
  bytes_ += needed;
}

void RecordFifo::pop() {
  Block& block = blocks_.front();
  block.begin += sizeof(Head) + head().size;
  if (block.begin < block.end) return;
  bytes_ -= block.end;
  block.begin = block.end = 0;
  spare_ = std::move(block);
  blocks_.pop_front();
}

}  // namespace overdue
