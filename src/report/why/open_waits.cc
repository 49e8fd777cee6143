#include "report/why/open_waits.h"

#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "report/why/root.h"
#include "source/kept_options.h"

namespace overdue {
namespace {

constexpr std::uint64_t sides_max = 100, tid_max = UINT32_MAX;
constexpr std::size_t words_max = 1000;

/// The lock for which a thread with this user stack waits in the call.
LibraryLock library_lock_in(const Stack& user_stack, std::string_view call) {
  for (const StackFrame& frame : user_stack) {
    if (frame.name == "ProcSleep") return LibraryLock::postgres;
    if (call != "futex") continue;
    if (!is_of_c_library(frame)) continue;
    const std::string_view name = frame.name;
    if (name.find("pthread_mutex_") != name.npos) return LibraryLock::mutex;
    if (name.find("pthread_rwlock_") != name.npos) return LibraryLock::rwlock;
  }
  return LibraryLock::none;
}

}  // namespace

OpenWait open_wait_of(const Finding& finding) {
  return {.pid = finding.thread.pid,
          .tid = finding.thread.tid,
          .lock = finding.user_stack ? library_lock_in(*finding.user_stack, finding.name)
                                     : LibraryLock::none,
          .is_stopped = is_stopped_at_present(finding)};
}

void keep_other_sides(const std::vector<OtherSide>& sides, SessionInfo& info) {
  std::size_t number = 0;
  for (const OtherSide& side : sides) {
    if (number == sides_max) break;
    const std::string key = fmt::format("other_side_{}", number++);
    info.options[key + "_of"] = std::to_string(side.tid);
    info.options[key + "_words"] = printable(side.words);
    info.options[key + "_by"] = printable(side.by);
  }
  info.options["other_sides"] = std::to_string(number);
}

std::vector<OtherSide> kept_other_sides(const SessionInfo& info) {
  const auto text_of = [&](const std::string& name) {
    const auto found = info.options.find(name);
    return found == info.options.end() ? "" : made_printable(found->second, words_max);
  };
  std::vector<OtherSide> sides;
  const std::uint64_t count = kept_number(info.options, "other_sides", 0, sides_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = fmt::format("other_side_{}", i);
    sides.push_back(
        {.tid = static_cast<std::uint32_t>(kept_number(info.options, key + "_of", 0, tid_max)),
         .words = text_of(key + "_words"),
         .by = text_of(key + "_by")});
  }
  return sides;
}

}  // namespace overdue
