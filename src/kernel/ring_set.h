#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "kernel/mapped.h"
#include "kernel/record_fifo.h"

namespace overdue {

/// One BPF ring buffer per CPU, read as one stream in time order. Records start with
/// `event_header`. One thread reads. The kernel wakes no thread for a record: the caller drains
/// every few milliseconds.
class RingSet {
 public:
  using Handler = std::function<void(std::span<const std::byte>)>;

  /// Creates the rings and puts them into the map of maps. `bytes_per_cpu` is a power of two of at
  /// least a page.
  RingSet(int map_of_rings_fd, std::uint32_t cpus, std::size_t bytes_per_cpu);

  /// Delivers all records up to `until`, oldest first. Later records stay, since an earlier record
  /// may still be on its way in another ring. Returns the number of delivered records.
  std::size_t drain(KernelTime until, const Handler& handler);

  /// For a handler that waits: moves the records that drain() would deliver from the rings, which
  /// the kernel keeps filling, into our memory. drain() delivers them later, in order. At most 24
  /// MiB: further records stay in the rings, and may be lost there.
  void set_aside(KernelTime until);

  bool has_aside() const { return !aside_.empty(); }

  /// Fill level of the fullest ring, 0 … 1.
  double fill() const;

 private:
  struct Ring {
    Fd fd;
    Mapped consumer;
    Mapped producer;  // the producer's page, then the data twice, so that no record wraps
    std::uint64_t position = 0;
    std::uint64_t released = 0;
    std::uint64_t written = 0;  // the producer's position at the last look()
  };
  struct Head {
    std::uint64_t time_ns;
    std::size_t ring;
    std::span<const std::byte> bytes;
  };

  bool peek(std::size_t ring, Head& head);
  void look();
  Head* oldest(std::uint64_t until_ns);
  void consume(Head* head);
  void install(int map_of_rings_fd);
  void release(Ring& ring);
  void release_all();
  bool deliver_from_aside(std::uint64_t until_ns, const Handler& handler);
  bool deliver_from_rings(std::uint64_t until_ns, const Handler& handler);

  std::size_t size_;
  std::size_t page_;
  std::vector<Ring> rings_;
  std::vector<Head> heads_;           // of rings with a record; valid until the next look()
  std::vector<std::byte> delivered_;  // the record of a ring that the handler gets
  RecordFifo aside_;
};

}  // namespace overdue
