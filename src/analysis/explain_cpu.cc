#include "analysis/explain_cpu.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace overdue {
namespace {

constexpr std::size_t max_named = 64;    // a name may need a request to another process
constexpr std::size_t max_frames = 8;    // of a place; a profiler shows more
constexpr std::size_t frames_alike = 2;  // a function and its caller

bool goes_back(const StackFrame& frame) {
  constexpr std::array<std::string_view, 3> ways = {"exit_to_user_mode", "irqentry_exit",
                                                    "syscall_exit_"};
  return std::any_of(ways.begin(), ways.end(),
                     [&frame](const std::string_view way) { return frame.name.starts_with(way); });
}

/// Kernel stack without the frames of the interrupt or of the context switch. Empty for a thread
/// that was in its program, or on its way back to the program.
Stack kernel_side(const RawSample& sample, StackNamer& namer) {
  Stack stack = namer.kernel_stack(sample.kernel_stack);
  // The outermost entry: a tick may interrupt the entry of another interrupt.
  const auto entry = std::find_if(stack.rbegin(), stack.rend(), [](const StackFrame& frame) {
    return frame.name.starts_with("asm_sysvec_") || frame.name == "asm_common_interrupt";
  });
  stack.erase(stack.begin(), entry.base());
  drop_scheduler(stack);
  if (!stack.empty() && goes_back(stack.front())) stack.clear();
  return stack;
}

Stack user_side(const RawSample& sample, StackNamer& namer) {
  if (sample.user_stack.empty()) return {};
  Stack stack =
      namer
          .user_stack(sample.header.pid, sample.registers, {sample.user_stack, sample.python},
                      KernelTime(Duration(sample.header.time_ns)))
          .frames;
  fold_unnamed(stack);
  return stack;
}

/// Keeps the named stack in the sample, in place of the raw stacks.
const Stack& named(RawSample& sample, Stack stack) {
  sample.kernel_stack = {};
  sample.user_stack = {};
  sample.python = {};
  return sample.named.emplace(std::move(stack));
}

const Stack& stack_of(RawSample& sample, StackNamer& namer) {
  if (sample.named) return *sample.named;
  Stack stack = user_side(sample, namer);
  Stack kernel = kernel_side(sample, namer);
  stack.insert(stack.begin(), std::make_move_iterator(kernel.begin()),
               std::make_move_iterator(kernel.end()));
  if (stack.size() > max_frames) stack.resize(max_frames);
  return named(sample, std::move(stack));
}

bool are_alike(const Stack& one, const Stack& other) {
  const std::size_t looked_at = std::min(frames_alike, std::max(one.size(), other.size()));
  if (one.size() < looked_at || other.size() < looked_at) return false;
  return std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(looked_at),
                    other.begin(), [](const StackFrame& a, const StackFrame& b) {
                      return to_text(a) == to_text(b) && a.module == b.module;
                    });
}

}  // namespace

Stack waking_stack_of(RawSample* sample, StackNamer& namer) {
  if (!sample) return {};
  return sample->named ? *sample->named : named(*sample, user_side(*sample, namer));
}

CpuPlaces cpu_places_of(std::span<RawSample* const> samples, StackNamer& namer) {
  CpuPlaces all;
  const std::size_t looked_at = std::min(samples.size(), max_named);
  for (std::size_t i = 0; i < looked_at; ++i) {
    const Stack& stack = stack_of(*samples[i * samples.size() / looked_at], namer);
    ++all.samples;
    const auto known =
        std::find_if(all.places.begin(), all.places.end(),
                     [&stack](const CpuPlace& place) { return are_alike(place.stack, stack); });
    if (known != all.places.end())
      ++known->samples;
    else
      all.places.push_back({.samples = 1, .stack = stack});
  }
  const auto name = [](const CpuPlace& place) {
    return place.stack.empty() ? std::string() : to_text(place.stack.front());
  };
  std::sort(all.places.begin(), all.places.end(), [&](const CpuPlace& one, const CpuPlace& other) {
    return one.samples != other.samples ? one.samples > other.samples : name(one) < name(other);
  });
  return all;
}

}  // namespace overdue
