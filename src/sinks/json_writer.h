#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "sinks/escape.h"
#include "sinks/output.h"

namespace overdue {

/// Writes one JSON document, with keys in the order given. Sets commas and line breaks; the caller
/// balances begins and ends.
class JsonWriter {
 public:
  enum class Style { one_line, readable };
  /// Layout of the elements of a container: on one line, or on a line each. Style::one_line takes
  /// precedence.
  enum class Elements { beside, below };

  JsonWriter(Output& output, Style style) : output_(output), readable_(style == Style::readable) {}

  void begin_object(Elements elements = Elements::beside) { begin('{', elements); }
  void end_object(Elements elements = Elements::beside) { end('}', elements); }
  void begin_array(Elements elements = Elements::beside) { begin('[', elements); }
  void end_array(Elements elements = Elements::beside) { end(']', elements); }

  void key(std::string_view name) {
    separate();
    append_json_string(output_, name);
    output_.append(readable_ ? std::string_view(": ") : std::string_view(":"));
    after_key_ = true;
  }

  void value(std::string_view text) {
    separate();
    append_json_string(output_, text);
  }
  void value(const char* text) { value(std::string_view(text)); }
  void value(std::same_as<bool> auto flag) { raw(flag ? "true" : "false"); }
  void value(std::unsigned_integral auto number)
    requires(!std::same_as<decltype(number), bool>)
  {
    separate();
    output_.append_number(std::uint64_t{number});
  }
  void value(std::int64_t number) {
    separate();
    output_.append_number(number);
  }
  void value(double number) { raw(fmt::format("{:.6g}", number)); }
  void null() { raw("null"); }

  void member(std::string_view name, const auto& content) {
    key(name);
    value(content);
  }

 private:
  void raw(std::string_view text) {
    separate();
    output_.append(text);
  }
  void begin(char bracket, Elements elements);
  void end(char bracket, Elements elements);
  void separate();
  void break_line();

  Output& output_;
  bool readable_;
  bool after_key_ = false;
  bool first_ = true;
  unsigned lines_ = 0;   ///< open containers with Elements::below
  unsigned beside_ = 0;  ///< open containers with Elements::beside
};

}  // namespace overdue
