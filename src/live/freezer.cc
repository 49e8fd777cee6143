#include "live/freezer.h"

#include <string_view>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/text.h"
#include "target/cgroups.h"

namespace overdue {

std::string freezer_text(std::uint32_t pid, const std::filesystem::path& proc) {
  const Cgroups cgroups(proc);
  const std::string text = read_text(proc / std::to_string(pid) / "cgroup").value_or("");
  for (const CgroupTarget& cgroup : cgroups.lineage(parse_memberships(text), "freezer")) {
    // The file with the cgroup's own setting: those below have frozen processes too.
    const std::string_view file = cgroup.v2 ? "cgroup.freeze" : "freezer.self_freezing";
    if (read_word(cgroup.directory / file) == "1")
      return fmt::format("cgroup {} is frozen ({})", printable(cgroup.path),
                         cgroup.v2 ? "cgroup.freeze" : "freezer.state");
  }
  return {};
}

}  // namespace overdue
