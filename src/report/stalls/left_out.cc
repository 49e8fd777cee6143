#include "report/stalls/left_out.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "sinks/text_format.h"

namespace overdue {

void LeftOut::add(const Finding& finding, bool is_known) {
  const bool is_call = finding.span == "syscall";
  Count& count =
      counts_[std::string(finding.purpose.of)][is_call ? finding.name : std::string(finding.span)];
  if (!is_known) ++count.count;
  count.longest_ns = std::max(count.longest_ns, finding.latency_ns);
}

std::vector<std::string> LeftOut::notes() const {
  constexpr std::pair<std::string_view, std::string_view> purposes[] = {
      {"time", "sleeps no longer than requested"},
      {"work", "waits for work"},
      {"unknown", "waits that may be for work"}};
  std::vector<std::string> notes;
  for (const auto& [purpose, words] : purposes) {
    const auto found = counts_.find(std::string(purpose));
    if (found == counts_.end()) continue;
    std::vector<std::pair<std::string, Count>> calls(found->second.begin(), found->second.end());
    std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
      return std::pair(b.second.longest_ns, a.first) < std::pair(a.second.longest_ns, b.first);
    });
    std::vector<std::string> said;
    for (const auto& [name, count] : calls)
      said.push_back(fmt::format("{} {} (longest {})", printable(name), grouped(count.count),
                                 duration_text(count.longest_ns)));
    notes.push_back(
        fmt::format("{} are not shown: {}; --idle shows them", words, fmt::join(said, ", ")));
  }
  return notes;
}

}  // namespace overdue
