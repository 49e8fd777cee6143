#include "report/why/next_command.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/time.h"
#include "core/span_kinds.h"
#include "report/why/cause.h"
#include "report/why/root.h"

namespace overdue {
namespace {

/// `word` as a shell takes it back.
std::string quoted_word(const std::string& word) {
  const bool is_plain = !word.empty() && std::ranges::all_of(word, [](unsigned char letter) {
    return std::isalnum(letter) ||
           std::string_view("_-./:=,@%+").find(static_cast<char>(letter)) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string text = "'";
  for (const char letter : printable(word))
    text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

std::string target_words(const TargetInfo& target) {
  std::vector<std::string> words;
  for (const std::string& value : target.values) words.push_back(quoted_word(value));
  const std::string all = fmt::format("{}", fmt::join(words, target.kind == "command" ? " " : ","));
  if (target.kind == "command") return "-- " + all;
  if (target.kind == "all") return "-a -d 10s";
  return fmt::format("--{} {} -d 10s", target.kind, all);
}

}  // namespace

std::string next_command(std::string_view kind, std::string_view call, std::uint64_t max_ns,
                         const SessionInfo& info) {
  const std::string target = target_words(info.target);
  const std::string only = call.empty()           ? ""
                           : is_answer_span(call) ? fmt::format("--span {} ", call)
                                                  : fmt::format("-e {} ", printable(call));
  if (kind == why_runqueue || kind == why_throttled)
    return fmt::format("overdue offcpu {}{}", kind == why_runqueue ? "--by displacer " : "",
                       target);
  if (kind == why_cpu)
    return call.empty() ? "overdue profile " + target
                        : fmt::format("overdue spans --span {} -a -d 10s", call);
  if (kind == why_calls) return fmt::format("overdue syscalls {}--by caller {}", only, target);
  if (kind == why_retry) return fmt::format("overdue syscalls {}--calls {}", only, target);
  if (kind == why_open) return fmt::format("overdue stalls --timeout 1s {}{}", only, target);
  // Half of the longest wait finds the longest ones.
  const auto milliseconds = std::max<std::uint64_t>(1, max_ns / 2'000'000);
  return fmt::format("overdue stalls -T {}ms {}{}", milliseconds, only, target);
}

}  // namespace overdue
