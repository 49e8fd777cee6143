#include "report/why/activities.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t activities_max = 200;

/// The part of the text before the word, or all.
std::string until(const std::string& text, std::string_view word) {
  return text.substr(0, text.find(word));
}

}  // namespace

void Activities::add_to(Sums& sums, const Root& root, Key key, std::uint64_t ns) {
  const auto known = sums.find(key);
  if (known != sums.end()) {
    known->second.ns += ns;
  } else if (sums.size() < activities_max) {
    Most sum{root, ns};
    sum.root.activity = key.second;
    sums.emplace(std::move(key), std::move(sum));
  }
}

void Activities::add(const Root& root, std::uint64_t ns) {
  if (!root.thread) return;
  all_ns_ += ns;
  const std::string threads = without_numbers(root.thread->comm);
  const std::string activity = until(root.activity, " by ");
  add_to(detailed_, root, {threads, activity}, ns);
  add_to(broad_, root, {threads, until(activity, " in ")}, ns);
}

Activities::Most Activities::most() const {
  if (empty()) return {};
  const auto longest = [](const Sums& sums) {
    return std::ranges::max_element(sums, {}, [](const auto& sum) { return sum.second.ns; })
        ->second;
  };
  Most detailed = longest(detailed_);
  return 2 * detailed.ns > all_ns_ ? detailed : longest(broad_);
}

}  // namespace overdue
