#include "sinks/json_writer.h"

namespace overdue {

void JsonWriter::begin(char bracket, Elements elements) {
  separate();
  output_.append(bracket);
  first_ = true;
  ++(elements == Elements::below ? lines_ : beside_);
}

void JsonWriter::end(char bracket, Elements elements) {
  const bool below = elements == Elements::below;
  --(below ? lines_ : beside_);
  if (below && !first_) break_line();
  output_.append(bracket);
  first_ = false;
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    first_ = false;
    return;
  }
  const bool below = lines_ > 0 && beside_ == 0;
  if (!first_) output_.append(readable_ && !below ? std::string_view(", ") : std::string_view(","));
  if (below) break_line();
  first_ = false;
}

void JsonWriter::break_line() {
  if (!readable_) return;
  output_.append('\n');
  for (unsigned depth = 0; depth < lines_; ++depth) output_.append("  ");
}

}  // namespace overdue
