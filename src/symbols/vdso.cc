#include "symbols/vdso.h"

#include <fcntl.h>
#include <sys/auxv.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/thread_rights.h"
#include "symbols/file_bytes.h"

namespace overdue {
namespace {

constexpr std::uint64_t longest_vdso = 1u << 20;
constexpr std::uint64_t end_of_32bit = std::uint64_t{1} << 32;

}  // namespace

std::vector<std::byte> read_vdso(pid_t pid, const Mapping& mapping) {
  const std::uint64_t size = mapping.end - mapping.start;
  if (size > longest_vdso) return {};
  std::vector<std::byte> bytes(size);
  const ReadRights rights;
  const Fd memory(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (memory && pread(memory.get(), bytes.data(), size, static_cast<off_t>(mapping.start)) ==
                    static_cast<ssize_t>(size))
    return bytes;
  const std::uint64_t ours = getauxval(AT_SYSINFO_EHDR);
  const auto maps = ProcessMaps::read(getpid());
  const Mapping* our_mapping = maps ? maps->find(ours) : nullptr;
  if (ours == 0 || mapping.end <= end_of_32bit || !our_mapping) return {};
  if (our_mapping->start != ours || our_mapping->end - our_mapping->start != size) return {};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): getauxval() has no pointers
  const auto* begin = reinterpret_cast<const std::byte*>(ours);
  return {begin, begin + size};
}

}  // namespace overdue
