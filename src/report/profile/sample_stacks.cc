#include "report/profile/sample_stacks.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bpf/profile.h"
#include "bpf/span.h"

namespace overdue {
namespace {

std::vector<std::uint64_t> kernel_addresses(const Record& record) {
  const std::size_t frames = std::min<std::size_t>(
      record.as<profile_sample>().kernel_frames,
      record.bytes.size() > sizeof(profile_sample)
          ? (record.bytes.size() - sizeof(profile_sample)) / sizeof(std::uint64_t)
          : 0);
  std::vector<std::uint64_t> addresses(frames);
  if (frames > 0)
    std::memcpy(addresses.data(), record.bytes.data() + sizeof(profile_sample), 8 * frames);
  return addresses;
}

/// The user stack behind `kernel_frames` addresses. Lengths in a file are hostile.
StackNamer::UserStack user_stack_of(const Record& record, std::size_t kernel_frames,
                                    StackNamer& namer) {
  const auto sample = record.as<profile_sample>();
  if (!(sample.flags & SPAN_HAS_USER_STACK)) return {};
  const bool is_named = sample.flags & SPAN_STACK_NAMED;
  const std::size_t registers_at = sizeof sample + sizeof(std::uint64_t) * kernel_frames;
  const std::size_t copy_at = registers_at + (is_named ? 0 : sizeof(user_registers));
  if (record.bytes.size() < copy_at) return {};
  const UserCopy copy = user_copy_at(record.bytes, copy_at, sample.flags, sample.user_bytes);
  const auto registers = is_named ? user_registers{} : record.at<user_registers>(registers_at);
  return namer.user_stack(sample.header.pid, registers, copy,
                          KernelTime(Duration(sample.header.time_ns)));
}

}  // namespace

SampleStacks stacks_of_sample(const Record& record, StackNamer& namer) {
  const std::vector<std::uint64_t> addresses = kernel_addresses(record);
  SampleStacks stacks{.kernel = addresses.empty() ? Stack() : namer.kernel_stack(addresses),
                      .user = user_stack_of(record, addresses.size(), namer)};
  fold_unnamed(stacks.user.frames);
  return stacks;
}

}  // namespace overdue
