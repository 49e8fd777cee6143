#include "kernel/ring_set.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "bpf/wire.h"

namespace overdue {
namespace {

// Layout of a BPF ring buffer as the kernel exports it (kernel/bpf/ringbuf.c): a page with the
// consumer's position, a page with the producer's, then the data, mapped twice in a row.
constexpr std::uint32_t busy_bit = 1u << 31;
constexpr std::uint32_t discard_bit = 1u << 30;
constexpr std::size_t record_header_bytes = 8;
constexpr std::size_t max_aside = 24u << 20;

/// The space in a ring of a record of `length` bytes.
constexpr std::size_t space_of(std::size_t length) {
  return (length + record_header_bytes + 7) / 8 * 8;
}

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
    rings_.push_back(std::move(ring));
  }
  install(map_of_rings_fd);
}

/// Sets all rings in one call if the kernel can (5.19): the kernel waits for a grace period after
/// each update of such a map.
void RingSet::install(int map_of_rings_fd) {
  std::vector<std::uint32_t> cpus(rings_.size());
  std::iota(cpus.begin(), cpus.end(), 0);
  std::vector<int> fds;
  for (const Ring& ring : rings_) fds.push_back(ring.fd.get());
  auto count = static_cast<std::uint32_t>(cpus.size());
  if (bpf_map_update_batch(map_of_rings_fd, cpus.data(), fds.data(), &count, nullptr) == 0) return;
  for (const std::uint32_t cpu : cpus)
    check(bpf_map_update_elem(map_of_rings_fd, &cpu, &fds[cpu], 0),
          "cannot install the ring buffer of CPU {}", cpu);
}

/// Reads the oldest unread record of a ring. False if there is none yet, or a program is still
/// writing it.
bool RingSet::peek(std::size_t index, Head& head) {
  Ring& ring = rings_[index];
  while (ring.position < ring.written) {
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
    ring.position += space_of(length);
  }
  return false;
}

/// Finds the records that have arrived by now.
void RingSet::look() {
  heads_.clear();
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    rings_[i].written = load_acquire(rings_[i].producer.as<std::uint64_t>());
    Head head{};
    if (peek(i, head)) heads_.push_back(head);
  }
}

/// Null if the next record of every ring is later than `until_ns`.
RingSet::Head* RingSet::oldest(std::uint64_t until_ns) {
  const auto found = std::min_element(
      heads_.begin(), heads_.end(),
      [](const Head& one, const Head& other) { return one.time_ns < other.time_ns; });
  return found != heads_.end() && found->time_ns <= until_ns ? &*found : nullptr;
}

/// Advances to the next record of the ring.
void RingSet::consume(Head* head) {
  Ring& ring = rings_[head->ring];
  std::uint32_t word;
  std::memcpy(&word, head->bytes.data() - record_header_bytes, sizeof word);
  ring.position += space_of(word & ~(busy_bit | discard_bit));
  if (ring.position - ring.released > size_ / 16) release(ring);  // make room early
  if (!peek(head->ring, *head)) heads_.erase(heads_.begin() + (head - heads_.data()));
}

void RingSet::release(Ring& ring) {
  __atomic_store_n(ring.consumer.as<std::uint64_t>(), ring.position, __ATOMIC_RELEASE);
  ring.released = ring.position;
}

void RingSet::release_all() {
  for (Ring& ring : rings_)
    if (ring.position != ring.released) release(ring);
}

void RingSet::set_aside(KernelTime until) {
  const std::uint64_t until_ns = until.time_since_epoch().count();
  look();
  while (Head* const head = oldest(until_ns)) {
    if (aside_.bytes() + head->bytes.size() > max_aside) break;
    aside_.push(head->time_ns, head->bytes);
    consume(head);
  }
  release_all();
}

/// False if the oldest record that is set aside is later than `until_ns`.
bool RingSet::deliver_from_aside(std::uint64_t until_ns, const Handler& handler) {
  if (aside_.front_time_ns() > until_ns) return false;
  handler(aside_.front());
  aside_.pop();
  return true;
}

/// A handler that sets records aside gives their place in the rings back: it gets a copy.
bool RingSet::deliver_from_rings(std::uint64_t until_ns, const Handler& handler) {
  Head* const head = oldest(until_ns);
  if (!head) return false;
  delivered_.assign(head->bytes.begin(), head->bytes.end());
  consume(head);
  handler(delivered_);
  return true;
}

// Records that are set aside are older than all records in the rings. A handler may set more aside.
std::size_t RingSet::drain(KernelTime until, const Handler& handler) {
  const std::uint64_t until_ns = until.time_since_epoch().count();
  std::size_t delivered = 0;
  look();
  while (aside_.empty() ? deliver_from_rings(until_ns, handler)
                        : deliver_from_aside(until_ns, handler))
    ++delivered;
  release_all();
  return delivered;
}

double RingSet::fill() const {
  std::uint64_t most = 0;
  for (const Ring& ring : rings_)
    most = std::max(most, load_acquire(ring.producer.as<std::uint64_t>()) - ring.position);
  return static_cast<double>(most) / static_cast<double>(size_);
}

}  // namespace overdue
