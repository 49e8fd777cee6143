// The owner of a lock of glibc, from the memory of the lock. The layouts are part of the binary
// interface (pthread_mutex_t, pthread_rwlock_t), and have not changed since glibc 2.25.
#include "live/lock_owner.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "base/read_text.h"

namespace overdue {
namespace {

constexpr std::size_t map_lines_max = 100'000, threads_read_max = 10'000;
constexpr std::uint32_t owner_in_word = 0x3fffffff;  // FUTEX_TID_MASK
constexpr std::uint32_t kind_shared = 128, kind_inherits = 32, kinds_known = 0x1ff;

template <typename T>
std::optional<T> peek(std::uint32_t pid, std::uint64_t address) {
  T value{};
  const iovec here{&value, sizeof value};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in another process
  const iovec there{reinterpret_cast<void*>(address), sizeof value};
  const ssize_t got = process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0);
  return got == static_cast<ssize_t>(sizeof value) ? std::optional(value) : std::nullopt;
}

/// The ids of a thread, outermost PID namespace first.
std::vector<std::uint32_t> ids_of(std::uint32_t pid, std::uint32_t tid) {
  std::ifstream status(fmt::format("/proc/{}/task/{}/status", pid, tid));
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream words(line.substr(6));
    std::vector<std::uint32_t> ids;
    for (std::uint32_t id = 0; words >> id;) ids.push_back(id);
    return ids;
  }
  return {};
}

/// The thread of the process that has this id in its own PID namespace.
std::optional<ThreadStatus> thread_of(std::uint32_t pid, std::uint32_t id) {
  const Proc proc;
  const std::size_t depth = ids_of(pid, pid).size();
  if (depth <= 1) {
    const auto thread = proc.thread(id);
    return thread && thread->pid == pid ? thread : std::nullopt;
  }
  std::size_t seen = 0;
  for (const std::uint32_t tid : proc.threads_of(pid)) {
    if (seen++ == threads_read_max) break;
    const auto ids = ids_of(pid, tid);
    if (!ids.empty() && ids.back() == id) return proc.thread(tid);
  }
  return std::nullopt;
}

/// The file of a shared mapping: device and inode.
using SharedFile = std::string;

/// Whether `wanted` of a line of /proc/PID/maps; the line's file if the mapping is shared.
template <typename Wanted>
std::optional<SharedFile> shared_file(std::uint32_t pid, const Wanted& wanted) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::string line;
  for (std::size_t i = 0; i < map_lines_max && std::getline(maps, line); ++i) {
    unsigned long begin = 0, end = 0;
    std::array<char, 8> rights{};
    std::array<char, 32> device{}, inode{};
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %*s %31s %31s", &begin, &end, rights.data(),
                    device.data(), inode.data()) != 5 ||
        rights[3] != 's')
      continue;
    SharedFile file = fmt::format("{} {}", device.data(), inode.data());
    if (wanted(begin, end, file)) return file;
  }
  return std::nullopt;
}

/// The owner of a lock that processes share: its process must map the file of the lock.
std::optional<ThreadStatus> sharer(std::uint32_t pid, std::uint64_t address, std::uint32_t id) {
  if (ids_of(pid, pid).size() != 1) return std::nullopt;
  auto owner = Proc().thread(id);
  if (!owner || owner->pid == pid) return owner;
  const auto file = shared_file(pid, [&](auto begin, auto end, const SharedFile&) {
    return begin <= address && address < end;
  });
  const auto is_same = [&](auto, auto, const SharedFile& one) { return one == *file; };
  return file && shared_file(owner->pid, is_same) ? owner : std::nullopt;
}

std::optional<LockOwner> mutex_owner(const OpenWait& wait, std::uint64_t address) {
  struct Mutex {
    std::uint32_t word, count, owner, users, kind;
  };
  const auto mutex = peek<Mutex>(wait.pid, address);
  if (!mutex || mutex->word == 0 || mutex->kind > kinds_known) return std::nullopt;
  const std::uint32_t id = mutex->kind & kind_inherits ? mutex->word & owner_in_word : mutex->owner;
  if (id == 0) return std::nullopt;
  const auto thread =
      mutex->kind & kind_shared ? sharer(wait.pid, address, id) : thread_of(wait.pid, id);
  if (!thread || thread->has_ended()) return std::nullopt;
  return LockOwner{.thread = thread};
}

/// Readers, and a writer that they keep out, wait for the word at offset 8; a writer that another
/// writer keeps out for that at offset 12. The lock begins at a multiple of 8.
std::optional<LockOwner> rwlock_owner(const OpenWait& wait, std::uint64_t address) {
  struct RwLock {
    std::uint32_t readers, writers, phase, writer_word, unused[2], writer;
    std::uint32_t shared;
  };
  constexpr std::uint32_t reader_shift = 3;
  const std::uint64_t begin = address - (address % 8 == 0 ? 8 : 12);
  const auto lock = peek<RwLock>(wait.pid, begin);
  if (!lock) return std::nullopt;
  if (lock->writer == 0) {
    const std::uint32_t readers = lock->readers >> reader_shift;
    return readers > 0 ? std::optional(LockOwner{.thread = {}, .readers = readers}) : std::nullopt;
  }
  const auto thread =
      lock->shared != 0 ? sharer(wait.pid, begin, lock->writer) : thread_of(wait.pid, lock->writer);
  if (!thread || thread->has_ended() || thread->tid == wait.tid) return std::nullopt;
  return LockOwner{.thread = thread};
}

}  // namespace

std::optional<PresentCall> present_call(std::uint32_t pid, std::uint32_t tid) {
  const auto text = read_text(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  if (!text) return std::nullopt;
  long number = -1;
  std::array<unsigned long, 6> given{};
  if (std::sscanf(text->c_str(), "%ld %lx %lx %lx %lx %lx %lx", &number, &given[0], &given[1],
                  &given[2], &given[3], &given[4], &given[5]) != 7 ||
      number < 0)
    return std::nullopt;
  PresentCall call{.number = static_cast<std::uint32_t>(number)};
  std::copy(given.begin(), given.end(), call.arguments.begin());
  return call;
}

std::optional<LockOwner> lock_owner(const OpenWait& wait) {
  const auto call = present_call(wait.pid, wait.tid);
  if (!call || call->number != SYS_futex) return std::nullopt;
  const std::uint64_t address = call->arguments[0];
  if (wait.lock == LibraryLock::mutex) return mutex_owner(wait, address);
  return wait.lock == LibraryLock::rwlock ? rwlock_owner(wait, address) : std::nullopt;
}

}  // namespace overdue
