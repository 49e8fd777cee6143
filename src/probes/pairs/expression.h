#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace overdue {

/// Reads text of the span language from left to right, and knows its position in the text.
class SpanText {
 public:
  /// `text` is borrowed. Throws Error if it is longer than `longest` bytes.
  explicit SpanText(std::string_view text);

  static constexpr std::size_t longest = 2048;

  std::size_t at() const { return at_; }
  bool ended() const { return at_ == text_.size(); }
  std::string_view rest() const { return text_.substr(at_); }
  void skip(std::size_t bytes) { at_ += bytes; }
  void skip_space();
  /// Skips `word` if it comes next; returns whether it did.
  bool take(std::string_view word);
  /// Letters, digits and '_', not beginning with a digit; empty if there are none.
  std::string_view take_name();
  /// The text in the double quotes that begin here; `\"` and `\\` are a quote and a backslash.
  std::string take_quoted();

  /// An Error (exit status 2) with the position, and the correction as a hint.
  Error error(std::size_t at, const std::string& message, std::string hint = {}) const;

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// One node of a parsed expression.
struct Expression {
  enum class Kind {
    number,  ///< `number`
    text,    ///< `word`: a string constant
    name,    ///< `word`: a field
    member,  ///< of parts[0], called `word`
    index,   ///< of parts[0], at `number`
    unary,   ///< `word` is "!", "-", "~" or "known": 0 where parts[0] cannot be read
    binary,  ///< `word` is the operator
    cast,    ///< parts[0] as a `word`, which is "u8" … "s64"
    read,    ///< the `word` at the address parts[0]; in user memory if `number` is 1
    typed,   ///< parts[0] as a pointer to the kernel's struct `word`
  };
  Kind kind = Kind::number;
  std::size_t at = 0;  ///< position in the text, for messages
  std::uint64_t number = 0;
  std::string word = {};
  std::vector<Expression> parts = {};
};

/// Reads one expression, up to the first text that cannot belong to it. Precedence from weak to
/// strong: || && then comparisons (which do not chain), | ^ & << >>, + -, then ! - ~, then . ->
/// [ ]. So `a & 4 == 4` is `(a & 4) == 4`, unlike in C. Throws Error with the position and a
/// correction.
Expression parse_expression(SpanText& text);

}  // namespace overdue
