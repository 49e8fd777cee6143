#include "analysis/throttle_words.h"

#include <string>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

/// "/shop/api"; begins with "…" if the cgroup is deeper than the record has names.
std::string cgroup_path(const sched_throttle& raw) {
  std::string path;
  for (const auto& name : raw.names) {
    const std::string_view text = fixed_text(name);
    if (text.empty() || text == "/") return path.empty() ? "/" : path;
    path.insert(0, fmt::format("/{}", text));
  }
  return "…" + path;
}

}  // namespace

Throttle throttle_in(const sched_throttle& raw) {
  return {.cgroup = cgroup_path(raw),
          .cgroup_id = raw.throttler_id,
          .quota_ns = raw.quota_ns,
          .period_ns = raw.period_ns,
          .of_real_time = raw.limit == THROTTLE_REAL_TIME};
}

}  // namespace overdue
