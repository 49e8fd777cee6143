#include "probes/pairs/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/text.h"

namespace overdue {
namespace {

constexpr unsigned deepest = 32;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Weakest first; longer operators before their own beginnings.
constexpr std::array<std::string_view, 1> or_operators{"||"};
constexpr std::array<std::string_view, 1> and_operators{"&&"};
constexpr std::array<std::string_view, 6> comparison_operators{"==", "!=", "<=", ">=", "<", ">"};
constexpr std::array<std::string_view, 1> bit_or_operators{"|"};
constexpr std::array<std::string_view, 1> bit_xor_operators{"^"};
constexpr std::array<std::string_view, 1> bit_and_operators{"&"};
constexpr std::array<std::string_view, 2> shift_operators{"<<", ">>"};
constexpr std::array<std::string_view, 2> sum_operators{"+", "-"};
constexpr std::array<std::span<const std::string_view>, 8> levels{
    or_operators,      and_operators,     comparison_operators, bit_or_operators,
    bit_xor_operators, bit_and_operators, shift_operators,      sum_operators};
constexpr std::size_t level_of_comparisons = 2;

constexpr std::array<std::string_view, 8> number_types{"u8", "u16", "u32", "u64",
                                                       "s8", "s16", "s32", "s64"};

class Parser {
 public:
  explicit Parser(SpanText& text) : text_(text) {}

  Expression expression() { return binary(0); }

 private:
  Expression binary(std::size_t level) {
    if (level == levels.size()) return unary();
    Expression left = binary(level + 1);
    for (std::size_t count = 0;; ++count) {
      const std::size_t at = (text_.skip_space(), text_.at());
      const std::string_view found = take_operator(level);
      if (found.empty()) return left;
      if (level == level_of_comparisons && count > 0)
        throw text_.error(at, "comparisons do not chain",
                          "join two of them with &&, as in `a < b && b < c`");
      Expression right = binary(level + 1);
      Expression both{.kind = Expression::Kind::binary, .at = at, .word = std::string(found)};
      both.parts.push_back(std::move(left));
      both.parts.push_back(std::move(right));
      left = std::move(both);
    }
  }

  std::string_view take_operator(std::size_t level) {
    const std::string_view rest = text_.rest();
    refuse_foreign(rest);
    for (const std::string_view candidate : levels[level]) {
      if (!rest.starts_with(candidate)) continue;
      // `|` is not the first half of `||`, nor `<` of `<<`, nor `-` of `->`.
      const char next = rest.size() > candidate.size() ? rest[candidate.size()] : '\0';
      if (candidate.size() == 1 &&
          (next == candidate[0] ? candidate != "-" && candidate != "+" : false))
        continue;
      text_.skip(candidate.size());
      return candidate;
    }
    return {};
  }

  /// Rejects operators of other languages that this one does not have.
  void refuse_foreign(std::string_view rest) const {
    if (rest.starts_with("=") && !rest.starts_with("=="))
      throw text_.error(text_.at(), "`=` is no comparison here", "write `==`");
    for (const char c : {'*', '/', '%', '?'})
      if (rest.starts_with(c))
        throw text_.error(text_.at(), fmt::format("there is no `{}` here", c),
                          "operators are == != < <= > >= && || ! + - & | ^ ~ << >>");
  }

  Expression unary() {
    text_.skip_space();
    const std::size_t at = text_.at();
    for (const std::string_view sign : {"!", "-", "~"}) {
      if (!text_.take(sign)) continue;
      enter(at);
      Expression node{.kind = Expression::Kind::unary, .at = at, .word = std::string(sign)};
      node.parts.push_back(unary());
      --depth_;
      return node;
    }
    return postfix(primary());
  }

  Expression postfix(Expression node) {
    while (true) {
      text_.skip_space();
      const std::size_t at = text_.at();
      if (text_.take("->") || text_.take(".")) {
        text_.skip_space();
        const std::string_view name = text_.take_name();
        if (name.empty()) throw text_.error(text_.at(), "the name of a member is missing here");
        node = wrap(Expression::Kind::member, at, std::move(node), std::string(name));
      } else if (text_.take("[")) {
        text_.skip_space();
        const std::optional<std::uint64_t> index = take_number();
        text_.skip_space();
        if (!index || !text_.take("]"))
          throw text_.error(text_.at(), "an index is a plain number and `]`");
        node = wrap(Expression::Kind::index, at, std::move(node), {});
        node.number = *index;
      } else {
        return node;
      }
    }
  }

  static Expression wrap(Expression::Kind kind, std::size_t at, Expression inner,
                         std::string word) {
    Expression outer{.kind = kind, .at = at, .word = std::move(word)};
    outer.parts.push_back(std::move(inner));
    return outer;
  }

  Expression primary() {
    text_.skip_space();
    const std::size_t at = text_.at();
    if (text_.take("(")) return parenthesized(at);
    if (text_.rest().starts_with('"'))
      return {.kind = Expression::Kind::text, .at = at, .word = text_.take_quoted()};
    if (const std::optional<std::uint64_t> number = take_number())
      return {.kind = Expression::Kind::number, .at = at, .number = *number};
    const std::string_view name = text_.take_name();
    if (name.empty()) throw missing_value(at);
    text_.skip_space();
    if (!text_.take("("))
      return {.kind = Expression::Kind::name, .at = at, .word = std::string(name)};
    if (name.starts_with("as_"))
      return wrap(Expression::Kind::typed, at, parenthesized(at), std::string(name.substr(3)));
    if (name == "known")
      return wrap(Expression::Kind::unary, at, parenthesized(at), std::string(name));
    const bool is_read = name.starts_with("read_");
    const bool of_user = name.starts_with("read_user_");
    const std::string_view number = name.substr(of_user ? 10 : is_read ? 5 : 0);
    if (std::find(number_types.begin(), number_types.end(), number) == number_types.end())
      throw text_.error(at, fmt::format("there is no function {}()", name),
                        "u8(…) … s64(…) take a value as such a number, read_u8(…) … read_s64(…) "
                        "read one at an address, read_user_u8(…) in user memory, known(…) is 0 "
                        "where a read fails, as_NAME(…) takes an address as that of a struct NAME");
    Expression node = wrap(is_read ? Expression::Kind::read : Expression::Kind::cast, at,
                           parenthesized(at), std::string(number));
    node.number = of_user;
    return node;
  }

  Error missing_value(std::size_t at) const {
    if (text_.rest().starts_with('\''))
      return text_.error(at, "text stands in double quotes here", "write \"text\"");
    return text_.error(at, "a value is missing here",
                       "a field, a number, \"text\" or (an expression)");
  }

  Expression parenthesized(std::size_t at) {
    enter(at);
    Expression inner = expression();
    --depth_;
    text_.skip_space();
    if (!text_.take(")")) throw text_.error(text_.at(), "a `)` is missing here");
    return inner;
  }

  std::optional<std::uint64_t> take_number() {
    const std::string_view rest = text_.rest();
    if (rest.empty() || !is_digit(rest[0])) return std::nullopt;
    const bool hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
    const std::string_view digits = rest.substr(hexadecimal ? 2 : 0);
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
    if (error == std::errc::result_out_of_range)
      throw text_.error(text_.at(), "a number has at most 64 bits");
    if (error != std::errc() || (end != rest.data() + rest.size() && is_letter(*end)) ||
        (end != rest.data() + rest.size() && is_digit(*end)))
      throw text_.error(text_.at(), "this is no number", "write 4096 or 0x1000, without a unit");
    text_.skip(static_cast<std::size_t>(end - rest.data()));
    return value;
  }

  void enter(std::size_t at) {
    if (++depth_ > deepest)
      throw text_.error(at, fmt::format("an expression nests at most {} deep", deepest));
  }

  SpanText& text_;
  unsigned depth_ = 0;
};

}  // namespace

SpanText::SpanText(std::string_view text) : text_(text) {
  if (text.size() > longest)
    throw std::move(
        Error("a span is described in at most {} bytes, these are {}", longest, text.size()))
        .exit_status(2);
}

void SpanText::skip_space() {
  while (!ended() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
}

bool SpanText::take(std::string_view word) {
  if (!rest().starts_with(word)) return false;
  at_ += word.size();
  return true;
}

std::string_view SpanText::take_name() {
  const std::string_view all = rest();
  if (all.empty() || !is_letter(all[0])) return {};
  std::size_t length = 1;
  while (length < all.size() && (is_letter(all[length]) || is_digit(all[length]))) ++length;
  at_ += length;
  return all.substr(0, length);
}

std::string SpanText::take_quoted() {
  const std::size_t begin = at_++;
  std::string value;
  while (!ended() && text_[at_] != '"') {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
    value += text_[at_++];
  }
  if (ended()) throw error(begin, "the `\"` that ends this text is missing");
  ++at_;
  return value;
}

Error SpanText::error(std::size_t at, const std::string& message, std::string hint) const {
  constexpr std::size_t excerpt = 24;
  const std::size_t place = std::min(at, text_.size());
  std::string_view near = text_.substr(place, excerpt);
  const std::string where = near.empty()
                                ? "at its end"
                                : fmt::format("at column {}, `{}{}`", place + 1, printable(near),
                                              text_.size() - place > excerpt ? "…" : "");
  Error result("cannot read the span, {}: {}", where, message);
  return std::move(result).hint(std::move(hint)).exit_status(2);
}

Expression parse_expression(SpanText& text) {
  return Parser(text).expression();
}

}  // namespace overdue
