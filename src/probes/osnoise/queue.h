#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bpf/wire.h"

namespace overdue {

/// Records on their way from one thread to one other, without locks. Each record begins with an
/// event_header, whose `size` is the record's size in bytes, a multiple of 8.
class RecordQueue {
 public:
  /// `words`: the capacity in words of 8 bytes; a power of two.
  explicit RecordQueue(std::size_t words) : words_(words) {}

  /// Adds a record; false if room for less than `spare` words would be left. For the writing
  /// thread.
  bool push(std::span<const std::byte> bytes, std::size_t spare = 0) {
    const std::size_t count = bytes.size() / 8;
    const std::size_t end = end_.load(std::memory_order_relaxed);
    const std::size_t room = words_.size() - (end - begin_.load(std::memory_order_acquire));
    if (room < count + spare) return false;
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(&words_[(end + i) & (words_.size() - 1)], bytes.data() + 8 * i, 8);
    end_.store(end + count, std::memory_order_release);
    return true;
  }

  /// Hands all records to `take`, each as bytes. For the reading thread.
  template <typename Take>
  void drain(Take take) {
    const std::size_t end = end_.load(std::memory_order_acquire);
    std::size_t at = begin_.load(std::memory_order_relaxed);
    while (at != end) {
      event_header header{};
      copy(at, &header, sizeof header / 8);
      std::vector<std::uint64_t> record(header.size / 8u);
      copy(at, record.data(), record.size());
      at += record.size();
      take(std::as_bytes(std::span(record)));
    }
    begin_.store(end, std::memory_order_release);
  }

 private:
  void copy(std::size_t from, void* to, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(static_cast<std::byte*>(to) + 8 * i, &words_[(from + i) & (words_.size() - 1)],
                  8);
  }

  std::vector<std::uint64_t> words_;
  std::atomic<std::size_t> begin_ = 0, end_ = 0;  ///< words so far; modulo the size, an index
};

}  // namespace overdue
