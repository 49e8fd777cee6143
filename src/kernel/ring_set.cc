#include "kernel/ring_set.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bpf/wire.h"

namespace overdue {
namespace {

// Layout of a BPF ring buffer as the kernel exports it (kernel/bpf/ringbuf.c): a page with the
// consumer's position, a page with the producer's, then the data, mapped twice in a row.
constexpr std::uint32_t busy_bit = 1u << 31;
constexpr std::uint32_t discard_bit = 1u << 30;
constexpr std::size_t record_header_bytes = 8;

template <typename T>
T load_acquire(const T* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);  // std::atomic_ref takes no const before C++26
}

}  // namespace

RingSet::RingSet(int map_of_rings_fd, std::uint32_t cpus, std::size_t bytes_per_cpu)
    : size_(bytes_per_cpu), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
  rings_.reserve(cpus);
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
    Ring ring;
    ring.fd = Fd(check(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "overdue_ring", 0, 0,
                                      static_cast<std::uint32_t>(size_), nullptr),
                       "cannot create a ring buffer of {} bytes for CPU {}", size_, cpu));
    ring.consumer = Mapped(ring.fd.get(), page_, PROT_READ | PROT_WRITE, 0, "a ring buffer");
    ring.producer = Mapped(ring.fd.get(), page_ + 2 * size_, PROT_READ, page_, "a ring buffer");
    const int fd = ring.fd.get();
    check(bpf_map_update_elem(map_of_rings_fd, &cpu, &fd, 0),
          "cannot install the ring buffer of CPU {}", cpu);
    rings_.push_back(std::move(ring));
  }
}

/// Looks at the oldest unread record of a ring. False when there is none yet, or it is still being
/// written.
bool RingSet::peek(std::size_t index, std::uint64_t producer, Head& head) {
  Ring& ring = rings_[index];
  while (ring.position < producer) {
    const std::byte* at = ring.producer.as<const std::byte>(page_ + (ring.position & (size_ - 1)));
    const auto word = load_acquire(reinterpret_cast<const std::uint32_t*>(at));
    if (word & busy_bit) return false;
    const std::size_t length = word & ~(busy_bit | discard_bit);
    if (!(word & discard_bit) && length >= sizeof(event_header)) {
      event_header header;
      std::memcpy(&header, at + record_header_bytes, sizeof header);
      head = {header.time_ns,
              index,
              {at + record_header_bytes, std::min<std::size_t>(header.size, length)}};
      return true;
    }
    ring.position += (length + record_header_bytes + 7) / 8 * 8;
  }
  return false;
}

void RingSet::release(Ring& ring) {
  __atomic_store_n(ring.consumer.as<std::uint64_t>(), ring.position, __ATOMIC_RELEASE);
  ring.released = ring.position;
}

std::size_t RingSet::drain(KernelTime until, const Handler& handler) {
  const std::uint64_t until_ns = until.time_since_epoch().count();
  std::vector<std::uint64_t> producers;
  std::vector<Head> heads;
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    producers.push_back(load_acquire(rings_[i].producer.as<std::uint64_t>()));
    Head head{};
    if (peek(i, producers[i], head)) heads.push_back(head);
  }
  std::size_t delivered = 0;
  while (!heads.empty()) {
    auto oldest = std::min_element(heads.begin(), heads.end(), [](const Head& a, const Head& b) {
      return a.time_ns < b.time_ns;
    });
    if (oldest->time_ns > until_ns) break;
    handler(oldest->bytes);
    ++delivered;
    Ring& ring = rings_[oldest->ring];
    const std::byte* at = oldest->bytes.data() - record_header_bytes;
    std::uint32_t word;
    std::memcpy(&word, at, sizeof word);
    ring.position += ((word & ~(busy_bit | discard_bit)) + record_header_bytes + 7) / 8 * 8;
    if (ring.position - ring.released > size_ / 16) release(ring);  // give room back while we work
    if (!peek(oldest->ring, producers[oldest->ring], *oldest)) heads.erase(oldest);
  }
  for (Ring& ring : rings_)
    if (ring.position != ring.released) release(ring);
  return delivered;
}

double RingSet::fill() const {
  std::uint64_t most = 0;
  for (const Ring& ring : rings_)
    most = std::max(most, load_acquire(ring.producer.as<std::uint64_t>()) - ring.position);
  return static_cast<double>(most) / static_cast<double>(size_);
}

}  // namespace overdue
