#include "report/why/cpu_functions.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/text.h"
#include "report/why/kernel_side.h"
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

void CpuFunctions::add(std::uint32_t pid, std::string_view comm, const Stack& kernel,
                       const Stack& user) {
  ++samples_;
  Key key{pid, without_numbers(comm)};
  if (groups_.size() >= groups_max && !groups_.contains(key)) key = {0, std::string(others)};
  Group& group = groups_[key];
  ++group.samples;
  std::pair<std::string, std::string> function{own_place(user), module_of(user)};
  if (function.first.empty() && !user.empty()) function.first = to_text(user.front());
  if (user.empty() && !kernel.empty()) function = {kernel_path(kernel), "[kernel]"};
  const KernelWork* work = kernel_work_in(kernel, user);
  if (work && work->is_of_interrupt) function = {std::string(work->name), "[kernel]"};
  if (group.functions.size() >= functions_max && !group.functions.contains(function))
    function = {std::string(others), ""};
  ++group.functions[function];
  add_work(group, kernel, user, function, work);
}

void CpuFunctions::add_work(Group& group, const Stack& kernel, const Stack& user,
                            const Functions::key_type& function, const KernelWork* work) {
  std::string_view name = memory_reclaim_in(kernel);
  if (!name.empty()) work = nullptr;
  if (work) name = work->name;
  if (name.empty()) return;
  KindOfWork& kind = group.works[std::string(name)];
  ++kind.samples;
  if (is_in_call(kernel)) ++kind.in_calls;
  if (kind.counted.size() < functions_max || kind.counted.contains(function))
    ++kind.counted[function];
  if (work) kind.least_percent = work->least_percent;
  // The kernel's own functions say no more than the name of the work. No function of the program
  // asked for an interrupt.
  const bool is_interrupt = work && work->is_of_interrupt;
  const Functions::key_type asked =
      is_interrupt ? Functions::key_type{softirq_in(kernel), "[kernel]"} : function;
  if (is_interrupt ? asked.first.empty() : user.empty()) return;
  if (kind.functions.size() < functions_max || kind.functions.contains(asked))
    ++kind.functions[asked];
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

std::vector<CpuFunctions::Work> CpuFunctions::works_of(const Key& group) const {
  std::map<std::string, Group> sums, counted;  // by the name of the work
  std::map<std::string, Work> works;
  std::uint64_t all = 0;
  for (const auto& [key, one] : groups_) {
    if (key.second != without_numbers(group.second) ||
        (group.first != 0 && key.first != group.first))
      continue;
    all += one.samples;
    for (const auto& [name, kind] : one.works) {
      Work& work = works[name];
      work.samples += kind.samples;
      work.in_calls += kind.in_calls;
      work.least_percent = kind.least_percent;
      Group& sum = sums[name];
      sum.samples += kind.samples;
      for (const auto& [function, samples] : kind.functions) sum.functions[function] += samples;
      for (const auto& [function, samples] : kind.counted)
        counted[name].functions[function] += samples;
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
