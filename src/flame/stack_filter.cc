#include "flame/stack_filter.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t pattern_max = 4096;  // bytes; a longer one takes much memory to compile
constexpr std::size_t text_max = 4096;     // bytes of a name: as many as StackTree keeps
constexpr std::size_t known_max = 65536;   // names

/// Whether the expression has `\1` to `\9` outside of brackets, in which a backslash is a plain
/// character.
bool has_back_reference(std::string_view pattern) {
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '\\') {
      ++at;
      if (at < pattern.size() && pattern[at] >= '1' && pattern[at] <= '9') return true;
    } else if (pattern[at] == '[') {
      // A bracket that comes first is a member.
      std::size_t from = at + 1;
      if (from < pattern.size() && pattern[from] == '^') ++from;
      const std::size_t end = pattern.find(']', from + 1);
      if (end != pattern.npos) at = end;
    }
  }
  return false;
}

}  // namespace

Regex::Regex(const std::string& pattern, std::string_view option) {
  const auto refuse = [&](std::string_view why) {
    return Error("bad expression '{}' for {}: {}", made_printable(printable(pattern), 200), option,
                 why)
        .hint("an extended regular expression, as of grep -E")
        .exit_status(2);
  };
  if (pattern.size() > pattern_max) throw refuse("longer than 4096 bytes");
  if (pattern.find('\0') != pattern.npos) throw refuse("it has a NUL byte");
  if (has_back_reference(pattern)) throw refuse("back references are not supported");
  if (const int error = regcomp(&compiled_, pattern.c_str(), REG_EXTENDED | REG_NOSUB)) {
    char why[200];
    regerror(error, &compiled_, why, sizeof why);
    throw refuse(why);
  }
}

bool Regex::matches(std::string_view text) const {
  regmatch_t range{.rm_so = 0, .rm_eo = static_cast<regoff_t>(std::min(text.size(), text_max))};
  const char* const begin = text.empty() ? "" : text.data();
  const int result = regexec(&compiled_, begin, 1, &range, REG_STARTEND);
  if (result == REG_ESPACE) throw Error("no memory to match an expression");
  return result == 0;
}

StackFilter::StackFilter(StackFilterOptions options) : options_(std::move(options)) {
  if (options_.grep) grep_.emplace(*options_.grep, "--grep");
  if (options_.thread) thread_.emplace(*options_.thread, "--thread");
}

bool StackFilter::is_match(const Regex& grep, const std::string& name) {
  const auto found = known_.find(name);
  if (found != known_.end()) return found->second;
  const bool result = grep.matches(name);
  if (name.size() <= text_max && known_.size() < known_max) known_.emplace(name, result);
  return result;
}

bool StackFilter::selects(const FoldedStack& stack) {
  if (thread_ && (stack.frames.empty() || !thread_->matches(stack.frames[0].name))) return false;
  if (!grep_) return true;
  const bool has_match = std::ranges::any_of(
      stack.frames, [&](const FoldedFrame& frame) { return is_match(*grep_, frame.name); });
  return has_match != options_.invert;
}

std::optional<std::span<const FoldedFrame>> StackFilter::kept(const FoldedStack& stack) {
  if (!selects(stack)) {
    ++left_out_;
    // A sum beyond 2^64 stays at the maximum.
    if (__builtin_add_overflow(left_out_weight_, stack.weight, &left_out_weight_))
      left_out_weight_ = std::numeric_limits<std::uint64_t>::max();
    return std::nullopt;
  }
  const std::span<const FoldedFrame> frames = stack.frames;
  if (frames.empty() || frames[0].kind != FrameKind::thread) return frames;
  if (options_.merge) return frames.subspan(1);
  if (!options_.group_digits) return frames;
  grouped_ = stack.frames;
  grouped_[0].name = without_numbers(grouped_[0].name);
  return grouped_;
}

std::string StackFilter::selection() const {
  std::string text;
  if (options_.grep)
    text =
        fmt::format("{} a frame like '{}'", options_.invert ? "without" : "with", *options_.grep);
  if (options_.thread)
    text += fmt::format("{}of threads like '{}'", text.empty() ? "" : ", ", *options_.thread);
  return text;
}

}  // namespace overdue
