#include "symbols/process_status.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/text.h"

namespace overdue {
namespace {

template <typename Number>
Number number_of(std::string_view text, int base = 10) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

}  // namespace

std::optional<ProcessStatus> read_process_status(pid_t pid) {
  const auto text = read_text(fmt::format("/proc/{}/status", pid), 1u << 16);
  if (!text) return std::nullopt;
  ProcessStatus status;
  bool has_uid = false;
  for (const std::string_view line : split(*text, '\n')) {
    const std::vector<std::string_view> words = split(line, '\t');
    if (words.size() < 2) continue;
    if (words[0] == "SigCgt:") status.caught_signals = number_of<std::uint64_t>(words[1], 16);
    if (words[0] == "Gid:" && words.size() > 2) status.gid = number_of<gid_t>(words[2]);
    if (words[0] == "Uid:" && words.size() > 2) {  // real, effective
      status.uid = number_of<uid_t>(words[2]);
      has_uid = true;
    }
    if (words[0] == "NSpid:") {
      status.pids.push_back(number_of<pid_t>(words.back()));
      if (words.size() > 2) status.pids.push_back(pid);
    }
  }
  if (!has_uid) return std::nullopt;
  if (status.pids.empty()) status.pids.push_back(pid);
  return status;
}

}  // namespace overdue
