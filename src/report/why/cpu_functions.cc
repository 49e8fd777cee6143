#include "report/why/cpu_functions.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "report/why/known_waits.h"
#include "report/why/root.h"
#include "sinks/finding_words.h"

namespace overdue {
namespace {

constexpr std::size_t groups_max = 5'000, functions_max = 5'000;
constexpr std::string_view others = "(other)";

/// The module of the innermost frame that has one.
std::string module_of(const Stack& stack) {
  const auto frame = std::ranges::find_if(
      stack, [](const StackFrame& one) { return !one.module.empty() && !is_of_c_library(one); });
  return frame == stack.end() ? "" : frame->module;
}

}  // namespace

void CpuFunctions::add(std::uint32_t pid, std::string_view comm, const Stack& kernel,
                       const Stack& user) {
  ++samples_;
  Key key{pid, without_numbers(comm)};
  if (groups_.size() >= groups_max && !groups_.contains(key)) key = {0, std::string(others)};
  Group& group = groups_[key];
  ++group.samples;
  if (const std::string_view reclaim = memory_reclaim_in(kernel); !reclaim.empty())
    ++group.reclaims[std::string(reclaim)];
  std::pair<std::string, std::string> function{own_place(user), module_of(user)};
  if (function.first.empty() && !user.empty()) function.first = to_text(user.front());
  if (user.empty() && !kernel.empty()) function = {kernel_path(kernel), "[kernel]"};
  if (group.functions.size() >= functions_max && !group.functions.contains(function))
    function = {std::string(others), ""};
  ++group.functions[function];
}

std::vector<WhyFunction> CpuFunctions::functions_of(const std::string& thread, const Group& group) {
  std::vector<WhyFunction> all;
  for (const auto& [function, samples] : group.functions)
    all.push_back({.function = function.first,
                   .module = function.second,
                   .thread = thread,
                   .samples = samples,
                   .of = group.samples});
  std::ranges::sort(all, std::ranges::greater(), &WhyFunction::samples);
  return all;
}

std::vector<WhyFunction> CpuFunctions::of(const Key& group) const {
  Group sum;
  const std::string name = without_numbers(group.second);
  for (const auto& [key, one] : groups_) {
    if (key.second != name || (group.first != 0 && key.first != group.first)) continue;
    sum.samples += one.samples;
    for (const auto& [function, samples] : one.functions) sum.functions[function] += samples;
  }
  return functions_of(group.second, sum);
}

CpuFunctions::Reclaim CpuFunctions::reclaim_of(const Key& group) const {
  Reclaim sum;
  std::uint64_t most = 0;
  for (const auto& [key, one] : groups_) {
    if (key.second != without_numbers(group.second) ||
        (group.first != 0 && key.first != group.first))
      continue;
    sum.of += one.samples;
    for (const auto& [name, samples] : one.reclaims) {
      sum.samples += samples;
      if (samples <= most) continue;
      most = samples;
      sum.name = name;
    }
  }
  return sum;
}

std::vector<WhyFunction> CpuFunctions::all() const {
  std::vector<WhyFunction> all;
  for (const auto& [key, group] : groups_)
    for (WhyFunction& one : functions_of(key.second, group)) all.push_back(std::move(one));
  std::ranges::sort(all, std::ranges::greater(), &WhyFunction::samples);
  return all;
}

}  // namespace overdue
