#pragma once

#include <regex.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flame/frame.h"

namespace overdue {

/// A POSIX extended regular expression, as `grep -E` takes it, for hostile text: matching takes
/// time proportional to the text.
class Regex {
 public:
  /// Throws Error (exit status 2), with `option` in the message, for an invalid expression and for
  /// one with back references, which can take exponential time.
  Regex(const std::string& pattern, std::string_view option);
  ~Regex() { regfree(&compiled_); }
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  /// Whether any part of `text` matches; `text` may have any bytes.
  bool matches(std::string_view text) const;

 private:
  regex_t compiled_{};
};

struct StackFilterOptions {
  std::optional<std::string> grep = {};    ///< keeps stacks with a frame that matches; nothing: all
  bool invert = false;                     ///< `grep` keeps the other stacks
  std::optional<std::string> thread = {};  ///< keeps stacks of threads that match; nothing: all
  bool merge = false;                      ///< drops the thread
  bool group_digits = false;               ///< numbers in names of threads become `*`
};

/// Selects stacks, and joins threads. Used by one thread.
class StackFilter {
 public:
  /// Throws Error (exit status 2) for an invalid expression.
  explicit StackFilter(StackFilterOptions options);

  /// The frames of the stack if it is kept, with its thread as the options say. They are valid
  /// until the next call, or the end of `stack`.
  std::optional<std::span<const FoldedFrame>> kept(const FoldedStack& stack);

  std::uint64_t left_out() const { return left_out_; }  ///< stacks
  std::uint64_t left_out_weight() const { return left_out_weight_; }
  /// The selection in words: `with a frame like 'x', of threads like 'y'`. Raw.
  std::string selection() const;

 private:
  bool selects(const FoldedStack& stack);
  bool is_match(const Regex& grep, const std::string& name);

  StackFilterOptions options_;
  std::optional<Regex> grep_, thread_;
  std::map<std::string, bool> known_;  ///< whether a name matches `grep`
  std::vector<FoldedFrame> grouped_;   ///< the last stack, with another thread
  std::uint64_t left_out_ = 0, left_out_weight_ = 0;
};

}  // namespace overdue
