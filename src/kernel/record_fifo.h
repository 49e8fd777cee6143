#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

namespace overdue {

/// Records in the order of their arrival, in blocks of memory that neither move nor grow: a record
/// keeps its address until pop(). One thread.
class RecordFifo {
 public:
  bool empty() const { return blocks_.empty(); }
  /// The size of all records, with what precedes each, in bytes; popped ones of the first block
  /// too.
  std::size_t bytes() const { return bytes_; }

  /// Keeps a copy of `record`.
  void push(std::uint64_t time_ns, std::span<const std::byte> record);
  /// The time and the bytes of the oldest record. Not if empty().
  std::uint64_t front_time_ns() const { return head().time_ns; }
  std::span<const std::byte> front() const;
  void pop();

 private:
  /// Precedes each record.
  struct Head {
    std::uint64_t time_ns;
    std::uint64_t size;
  };
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t size;
    std::size_t begin = 0;  // of the oldest record
    std::size_t end = 0;
  };

  Head head() const;
  void add_block(std::size_t least);

  std::deque<Block> blocks_;  // none is empty
  Block spare_{};             // the last block that became empty: its pages are there already
  std::size_t bytes_ = 0;
};

}  // namespace overdue
