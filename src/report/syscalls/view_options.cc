#include "report/syscalls/view_options.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace overdue {

void ViewOptions::check() const {
  group_by();
  LatencyTable none;
  sort_rows(none, sort_column(), row_limit());
  if (!calls && !discover) return;
  const std::string_view mode = calls ? "--calls" : "--discover";
  const std::string_view shows = calls ? "single calls" : "names only";
  const GroupBy keys = group_by();
  const bool by_fits = by.empty() || (discover && keys.needs_callers() && !keys.needs_threads());
  const std::pair<bool, std::string_view> others[] = {
      {calls && discover, "--discover"}, {!by_fits, "--by"},  {histograms, "--hist"},
      {sort.has_value(), "--sort"},      {top != 0, "--top"},
  };
  for (const auto& [given, other] : others)
    if (given)
      throw Error("{} shows {}; {} does not go with it", mode, shows, other)
          .hint("leave one of them out")
          .exit_status(2);
}

GroupBy ViewOptions::group_by() const {
  using Flag = bool GroupBy::*;
  static constexpr std::pair<std::string_view, Flag> flags[] = {
      {to_word(Whose::process), &GroupBy::process},
      {to_word(Whose::thread), &GroupBy::thread},
      {to_word(Whose::name), &GroupBy::name},
      {to_word(Whose::cgroup), &GroupBy::cgroup},
      {to_word(Whose::parent), &GroupBy::parent},
      {"container", &GroupBy::container},
      {"library", &GroupBy::library},
      {"caller", &GroupBy::caller}};
  std::vector<std::string_view> keys{"syscall"};
  for (const auto& [word, flag] : flags) keys.push_back(word);
  GroupBy result;
  for (const std::string& list : by)
    for (const std::string_view key : split(list, ',')) {
      check_whose(key, keys);
      const auto found = std::ranges::find(flags, key, &std::pair<std::string_view, Flag>::first);
      if (found != std::end(flags)) result.*(found->second) = true;
    }
  if (result.name && result.parent)
    throw Error("--by name and --by parent do not go together")
        .hint("--by parent has the names of the processes")
        .exit_status(2);
  return result;
}

std::size_t ViewOptions::row_limit() const {
  if (top < 0)
    throw Error("--top {}: not a number of rows", top).hint("--top 10; 0 shows all").exit_status(2);
  return static_cast<std::size_t>(top);
}

std::optional<SyscallSet> ViewOptions::wanted(const Names& names) const {
  if (only.empty()) return std::nullopt;
  return parse_syscall_set(only, names);
}

}  // namespace overdue
