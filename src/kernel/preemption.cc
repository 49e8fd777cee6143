#include "kernel/preemption.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/read_text.h"
#include "base/thread_rights.h"

namespace overdue {
namespace {

constexpr std::string_view real_time = "PREEMPT_RT";

std::string_view model_of(std::string_view build, std::string_view modes) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> names = {
      {{"(none)", "server"},
       {"(voluntary)", "desktop"},
       {"(full)", "preempt"},
       {"(lazy)", "lazy"}}};
  if (build.find(real_time) != build.npos) return "preempt_rt";
  for (const auto& [mode, name] : names)
    if (modes.find(mode) != modes.npos) return name;
  if (build.find("PREEMPT_DYNAMIC") != build.npos) return "unknown";
  return build.find("PREEMPT") != build.npos ? "preempt" : "unknown";
}

}  // namespace

Preemption read_preemption(const Host& host, const std::filesystem::path& chosen) {
  Preemption preemption;
  const ReadRights rights;  // only root may read debugfs
  preemption.model = model_of(host.build, read_text(chosen).value_or(""));
  int major = 0, minor = 0;
  if (std::sscanf(host.kernel.c_str(), "%d.%d", &major, &minor) != 2) return preemption;
  const std::pair version(major, minor);
  if (version >= std::pair(6, 18)) preemption.resched_bit = 4;
  const bool is_patched =
      version < std::pair(6, 12) && host.build.find(real_time) != host.build.npos;
  preemption.has_lazy = version >= std::pair(6, 13) || is_patched;
  return preemption;
}

}  // namespace overdue
