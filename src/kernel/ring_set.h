#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "kernel/mapped.h"

namespace overdue {

/// One BPF ring buffer per CPU, read as one stream in time order. Records start with
/// `event_header`. One thread reads. The kernel never wakes us for a record: the caller drains
/// every few milliseconds.
class RingSet {
 public:
  using Handler = std::function<void(std::span<const std::byte>)>;

  /// Creates the rings and puts them into the map of maps. `bytes_per_cpu` is a power of two of at
  /// least a page.
  RingSet(int map_of_rings_fd, std::uint32_t cpus, std::size_t bytes_per_cpu);

  /// Delivers, oldest first, every record older than `until`; later ones stay, because an earlier
  /// one may still be on its way in another ring. Returns how many were delivered.
  std::size_t drain(KernelTime until, const Handler& handler);

  /// How full the fullest ring is, 0 … 1.
  double fill() const;

 private:
  struct Ring {
    Fd fd;
    Mapped consumer;
    Mapped producer;  // the producer's page, then the data twice, so that no record wraps
    std::uint64_t position = 0;
    std::uint64_t released = 0;
  };
  struct Head {
    std::uint64_t time_ns;
    std::size_t ring;
    std::span<const std::byte> bytes;
  };

  bool peek(std::size_t ring, std::uint64_t producer, Head& head);
  void release(Ring& ring);

  std::size_t size_;
  std::size_t page_;
  std::vector<Ring> rings_;
};

}  // namespace overdue
