#include "report/why/cpu_functions.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "report/why/kernel_side.h"
#include "report/why/known_waits.h"
#include "report/why/root.h"
#include "sinks/finding_words.h"

namespace overdue {
namespace {

constexpr std::size_t groups_max = 5'000, functions_max = 5'000, calls_max = 100, depth_max = 64;
/// Percent of the samples that the function they have in common has, and that the largest of the
/// functions below may have.
constexpr std::uint64_t common_from = 80, scattered_to = 60;
constexpr std::string_view other_functions = "(other)";

std::uint64_t count_of(const std::pair<const std::string, std::uint64_t>& one) {
  return one.second;
}

/// The module of the innermost frame that has one.
std::string module_of(const Stack& stack) {
  const auto frame = std::ranges::find_if(
      stack, [](const StackFrame& one) { return !one.module.empty() && !is_of_c_library(one); });
  return frame == stack.end() ? "" : frame->module;
}

}  // namespace

std::string shown_function(const WhyFunction& function) {
  return function.call.empty() ? function.function : function.call + " ← " + function.function;
}

void leave_out(const std::vector<WhyFunction>& work, std::vector<WhyFunction>& functions) {
  const std::uint64_t gone =
      std::accumulate(work.begin(), work.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const WhyFunction& one) { return sum + one.samples; });
  for (WhyFunction& one : functions) {
    one.of -= std::min(one.of, gone);
    for (const WhyFunction& part : work)
      if (part.function == one.function && part.module == one.module)
        one.samples -= std::min(one.samples, part.samples);
  }
  std::erase_if(functions, [](const WhyFunction& one) { return one.samples == 0; });
  std::ranges::sort(functions, std::ranges::greater(), &WhyFunction::samples);
}

void CpuFunctions::Samples::add(const Samples& other) {
  count += other.count;
  for (const auto& [call, more] : other.in_calls)
    if (in_calls.size() < calls_max || in_calls.contains(call)) in_calls[call] += more;
}

void CpuFunctions::add(std::uint32_t pid, std::string_view comm, const Stack& kernel,
                       const Stack& user) {
  ++samples_;
  Key key{pid, without_numbers(comm)};
  if (groups_.size() >= groups_max && !groups_.contains(key))
    key = {0, std::string(other_functions)};
  Group& group = groups_[key];
  ++group.samples;
  const std::vector<const StackFrame*> own = own_frames(user, depth_max);
  add_below(group, own);
  Functions::key_type function{place_text(own), module_of(user)};
  if (function.first.empty() && !user.empty()) function.first = to_text(user.front());
  if (user.empty() && !kernel.empty()) function = {kernel_path(kernel), "[kernel]"};
  const KernelWork* work = kernel_work_in(kernel, user);
  if (work && work->is_of_interrupt) function = {std::string(work->name), "[kernel]"};
  if (group.functions.size() >= functions_max && !group.functions.contains(function))
    function = {std::string(other_functions), ""};
  Samples sample{.count = 1, .in_calls = {}};
  const bool is_interrupt = work && work->is_of_interrupt;
  if (const std::string call = is_interrupt || user.empty() ? "" : call_in(kernel, user);
      !call.empty())
    sample.in_calls[call] = 1;
  group.functions[function].add(sample);
  add_work(group, kernel, user, function, sample, work);
}

void CpuFunctions::add_below(Group& group, const std::vector<const StackFrame*>& own) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::string name = to_text(*own[i]);
    if (!seen.insert(name).second) continue;  // a recursion
    if (group.below.size() >= functions_max && !group.below.contains(name)) continue;
    Below& below = group.below[name];
    ++below.samples;
    below.depth += own.size() - 1 - i;
    below.is_of_runtime = is_of_runtime(*own[i]);
  }
}

void CpuFunctions::add_work(Group& group, const Stack& kernel, const Stack& user,
                            const Functions::key_type& function, const Samples& sample,
                            const KernelWork* work) {
  std::string_view name = memory_reclaim_in(kernel);
  if (!name.empty()) work = nullptr;
  if (work) name = work->name;
  if (name.empty()) return;
  KindOfWork& kind = group.works[std::string(name)];
  ++kind.samples;
  if (is_in_call(kernel)) ++kind.in_calls;
  if (kind.counted.size() < functions_max || kind.counted.contains(function))
    kind.counted[function].add(sample);
  if (work) kind.least_percent = work->least_percent;
  if (work && work->is_of_handler) ++kind.in_handlers;
  // The kernel's own functions say no more than the name of the work. No function of the program
  // asked for an interrupt.
  const bool is_interrupt = work && work->is_of_interrupt;
  const Functions::key_type asked =
      is_interrupt ? Functions::key_type{softirq_in(kernel), "[kernel]"} : function;
  if (is_interrupt ? asked.first.empty() : user.empty()) return;
  if (kind.functions.size() < functions_max || kind.functions.contains(asked))
    kind.functions[asked].add(sample);
}

std::vector<WhyFunction> CpuFunctions::functions_of(const std::string& thread, const Group& group) {
  std::vector<WhyFunction> all;
  for (const auto& [function, samples] : group.functions) {
    const auto call = std::ranges::max_element(samples.in_calls, {}, count_of);
    const bool is_most = call != samples.in_calls.end() && 2 * call->second > samples.count;
    all.push_back({.function = function.first,
                   .module = function.second,
                   .thread = thread,
                   .samples = samples.count,
                   .of = group.samples,
                   .call = is_most ? call->first : ""});
  }
  std::ranges::sort(all, std::ranges::greater(), &WhyFunction::samples);
  return all;
}

/// Whether `group` has the threads of `one`.
bool CpuFunctions::is_in(const Key& one, const Key& group) {
  return one.second == without_numbers(group.second) &&
         (group.first == 0 || one.first == group.first);
}

std::vector<WhyFunction> CpuFunctions::of(const Key& group) const {
  Group sum;
  for (const auto& [key, one] : groups_) {
    if (!is_in(key, group)) continue;
    sum.samples += one.samples;
    for (const auto& [function, samples] : one.functions) sum.functions[function].add(samples);
  }
  return functions_of(group.second, sum);
}

std::optional<WhyFunction> CpuFunctions::common_of(const Key& group) const {
  std::map<std::string, Below> sums;
  std::uint64_t all = 0;
  for (const auto& [key, one] : groups_) {
    if (!is_in(key, group)) continue;
    all += one.samples;
    for (const auto& [function, below] : one.below) {
      sums[function].samples += below.samples;
      sums[function].depth += below.depth;
      sums[function].is_of_runtime |= below.is_of_runtime;
    }
  }
  const std::vector<WhyFunction> functions = of(group);
  if (functions.empty() || 100 * functions.front().samples > scattered_to * all) return {};
  std::erase_if(sums, [&](const auto& one) {
    return 100 * one.second.samples < common_from * all || one.second.depth < one.second.samples;
  });
  const auto innermost = std::ranges::max_element(sums, {}, [](const auto& one) {
    const Below& below = one.second;
    return std::pair(below.is_of_runtime,
                     static_cast<double>(below.depth) / static_cast<double>(below.samples));
  });
  if (innermost == sums.end()) return {};
  return WhyFunction{.function = innermost->first,
                     .module = "",
                     .thread = group.second,
                     .samples = innermost->second.samples,
                     .of = all};
}

std::vector<CpuFunctions::Work> CpuFunctions::works_of(
    const Key& group, const std::map<std::uint32_t, std::uint64_t>& returns) const {
  std::map<std::string, Group> sums, counted;  // by the name of the work
  std::map<std::string, Work> works;
  std::uint64_t all = 0;
  for (const auto& [key, one] : groups_) {
    if (!is_in(key, group)) continue;
    all += one.samples;
    const auto back = returns.find(key.first);
    for (const auto& [name, kind] : one.works) {
      if (kind.goes_on_in_handler(back == returns.end() ? 0 : back->second)) continue;
      Work& work = works[name];
      work.samples += kind.samples;
      work.in_calls += kind.in_calls;
      work.least_percent = kind.least_percent;
      Group& sum = sums[name];
      sum.samples += kind.samples;
      for (const auto& [function, samples] : kind.functions) sum.functions[function].add(samples);
      for (const auto& [function, samples] : kind.counted)
        counted[name].functions[function].add(samples);
    }
  }
  std::vector<Work> found;
  for (auto& [name, work] : works) {
    work.name = name;
    work.of = all;
    work.functions = functions_of(group.second, sums[name]);
    work.counted = functions_of(group.second, counted[name]);
    found.push_back(std::move(work));
  }
  return found;
}

std::set<std::uint32_t> CpuFunctions::processes_with(const std::string& work) const {
  std::set<std::uint32_t> pids;
  for (const auto& [key, group] : groups_)
    if (key.first != 0 && group.works.contains(work)) pids.insert(key.first);
  return pids;
}

std::vector<WhyFunction> CpuFunctions::all() const {
  std::set<std::string> names;
  for (const auto& [key, group] : groups_) names.insert(key.second);
  std::vector<WhyFunction> all;
  for (const std::string& name : names)
    for (WhyFunction& one : of({0, name})) all.push_back(std::move(one));
  std::ranges::sort(all, std::ranges::greater(), &WhyFunction::samples);
  return all;
}

}  // namespace overdue
