#include "report/syscalls/view_options.h"

#include <string_view>
#include <utility>

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
  const bool by_fits = by.empty() || (discover && keys.needs_callers() && !keys.process &&
                                      !keys.thread && !keys.container);
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
  static constexpr std::string_view keys[] = {"syscall",   "process", "thread",
                                              "container", "library", "caller"};
  GroupBy result;
  for (const std::string& list : by) {
    for (const std::string_view key : split(list, ',')) {
      if (key == "process") {
        result.process = true;
      } else if (key == "thread") {
        result.thread = true;
      } else if (key == "container") {
        result.container = true;
      } else if (key == "library") {
        result.library = true;
      } else if (key == "caller") {
        result.caller = true;
      } else if (key != "syscall") {
        const std::string_view close = nearest(key, keys);
        throw Error("unknown key '{}' for --by", printable(key))
            .hint(close.empty() ? "keys: syscall, process, thread, container, library, caller"
                                : fmt::format("did you mean '{}'?", close))
            .exit_status(2);
      }
    }
  }
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
