#include "report/why/call_sums.h"

#include <algorithm>
#include <iterator>

namespace overdue {

std::uint64_t session_ns(const SessionInfo& info) {
  return static_cast<std::uint64_t>(info.duration.count());
}

std::uint64_t per_session(std::uint64_t per_second, const SessionInfo& info) {
  return per_second * session_ns(info) / 1'000'000'000;
}

std::map<std::uint32_t, std::uint64_t> returns_from_handlers(const LatencyTable& calls) {
  std::map<std::uint32_t, std::uint64_t> returns;
  for (const LatencyRow& row : calls.rows)
    if (row.name == "rt_sigreturn" && row.process)
      returns[row.process->pid] += row.latency.count() + row.unreturned;
  return returns;
}

bool is_sleep(std::string_view call) {
  return call == "nanosleep" || call == "clock_nanosleep";
}

std::string_view shortage_of(const LatencyRow& row) {
  constexpr std::string_view shortages[] = {"EMFILE", "ENFILE",  "ENOSPC",       "EDQUOT",
                                            "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL"};
  if (row.errnos.empty() || row.errors < row.latency.count() / 10 * 9) return {};
  const std::string_view error = row.errnos.front().first;
  return std::ranges::find(shortages, error) == std::end(shortages) ? "" : error;
}

Shortage shortage_named(std::string_view error) {
  if (error.empty()) return Shortage::none;
  if (error == "EMFILE") return Shortage::descriptors;
  return error == "ENFILE" ? Shortage::files : Shortage::other;
}

}  // namespace overdue
