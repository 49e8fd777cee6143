#include "analysis/wait_habits.h"

#include <algorithm>
#include <functional>
#include <string_view>

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

/// Number of frames outside the C library and the innermost function that an interpreter runs.
std::size_t own_depth_of(const Stack& stack) {
  const auto interpreter = std::ranges::find_if(stack, [](const StackFrame& frame) {
    return std::string_view(frame.name).starts_with("_PyEval_EvalFrame");
  });
  const auto first = interpreter == stack.end() ? stack.begin() : interpreter;
  return static_cast<std::size_t>(std::count_if(
      first, stack.end(), [](const StackFrame& frame) { return !is_of_c_library(frame); }));
}

}  // namespace

void WaitHabits::add_depth(std::map<ThreadKey, std::size_t>& least, const Finding& finding) {
  if (!finding.user_stack || finding.user_stack->empty()) return;
  if (least.size() >= threads_kept) least.clear();
  const std::size_t depth = finding.user_stack->size();
  const auto [found, is_new] = least.try_emplace({finding.thread.pid, finding.thread.tid}, depth);
  found->second = std::min(found->second, depth);
}

void WaitHabits::add_sleep(const Finding& finding) {
  add_depth(least_depth_, finding);
}

void WaitHabits::add_events(const Finding& finding, bool came) {
  if (!finding.user_stack || finding.user_stack->empty()) return;
  if (loops_.size() >= threads_kept) loops_.clear();
  const Stack& stack = *finding.user_stack;
  const std::size_t own_depth = own_depth_of(stack);
  const auto [found, is_new] = loops_.try_emplace({finding.thread.pid, finding.thread.tid},
                                                  Loop{stack.size(), own_depth, came});
  Loop& loop = found->second;
  loop.depth = std::min(loop.depth, stack.size());
  loop.own_depth = std::min(loop.own_depth, own_depth);
  loop.had_events |= came;
}

bool WaitHabits::holds_up_loop(const Finding& finding) const {
  const auto loop = loops_.find({finding.thread.pid, finding.thread.tid});
  return loop != loops_.end() && finding.user_stack &&
         finding.user_stack->size() > loop->second.depth;
}

bool WaitHabits::sleeps_below_loop(const Finding& finding) const {
  const auto loop = loops_.find({finding.thread.pid, finding.thread.tid});
  return loop != loops_.end() && loop->second.had_events && finding.user_stack &&
         own_depth_of(*finding.user_stack) > loop->second.own_depth;
}

bool WaitHabits::is_habit(const Finding& finding) {
  if (!finding.user_stack) return false;
  const Stack& stack = *finding.user_stack;
  if (places_.size() >= places_kept) places_.clear();
  add_depth(least_depth_, finding);
  Place& place = places_[place_of(finding.thread.pid, stack)];
  const bool is_known = place.waits >= habit && place.threads.size() > 1;
  ++place.waits;
  if (place.threads.size() < 2) place.threads.insert(finding.thread.tid);
  const auto least = least_depth_.find({finding.thread.pid, finding.thread.tid});
  return is_known && least != least_depth_.end() && least->second == stack.size();
}

}  // namespace overdue
