#include "analysis/wait_habits.h"

#include <algorithm>
#include <functional>

namespace overdue {
namespace {

constexpr std::size_t places_kept = 10'000, threads_kept = 10'000;
constexpr std::uint64_t habit = 3;  // earlier waits in a place that make a habit

void mix(std::size_t& hash, std::size_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
}

/// Key of a place: process and functions, not addresses. A loop may wait at two addresses.
std::size_t place_of(std::uint32_t pid, const Stack& stack) {
  std::size_t hash = pid;
  for (const StackFrame& frame : stack) mix(hash, std::hash<std::string>{}(to_text(frame)));
  return hash;
}

}  // namespace

bool WaitHabits::is_habit(const Finding& finding) {
  if (!finding.user_stack) return false;
  const Stack& stack = *finding.user_stack;
  if (places_.size() >= places_kept) places_.clear();
  if (least_depth_.size() >= threads_kept) least_depth_.clear();
  const std::size_t depth = stack.size();
  const auto [least, is_new] =
      least_depth_.try_emplace({finding.thread.pid, finding.thread.tid}, depth);
  least->second = std::min(least->second, depth);
  Place& place = places_[place_of(finding.thread.pid, stack)];
  const bool is_known = place.waits >= habit && place.threads.size() > 1;
  ++place.waits;
  if (place.threads.size() < 2) place.threads.insert(finding.thread.tid);
  return is_known && least->second == depth;
}

}  // namespace overdue
