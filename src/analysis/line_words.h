#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>

namespace overdue {

/// Reads a text from its front. A step returns false if the text there is something else.
class LineWords {
 public:
  explicit LineWords(std::string_view rest) : rest_(rest) {}

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  template <typename Number>
  bool number(Number& value, int base = 10) {
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc{}) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  /// Reads seconds, such as "548.771078", with `digits` digits after the point.
  bool seconds(std::uint64_t& ns, std::size_t digits) {
    constexpr std::uint64_t second_ns = 1'000'000'000;
    constexpr std::uint64_t max_seconds = std::numeric_limits<std::int64_t>::max() / second_ns;
    std::uint64_t whole = 0, part = 0;
    if (!number(whole) || whole >= max_seconds || !take(".")) return false;
    if (rest_.size() < digits || !std::all_of(rest_.begin(), rest_.begin() + digits,
                                              [](char c) { return c >= '0' && c <= '9'; }))
      return false;
    for (std::size_t i = 0; i < 9; ++i)
      part = 10 * part + (i < digits ? static_cast<std::uint64_t>(rest_[i] - '0') : 0);
    rest_.remove_prefix(digits);
    ns = whole * second_ns + part;
    return true;
  }
  std::string_view word() {
    const std::string_view found = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(found.size());
    return found;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace overdue
