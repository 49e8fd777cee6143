#include "sinks/text_record.h"

#include <time.h>

#include <iterator>

#include "sinks/escape.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

/// Results beyond this are addresses (mmap, brk), printed in hexadecimal.
constexpr std::int64_t address_min = std::int64_t{1} << 40;

/// Errno values from here on are internal to the kernel, and the program never sees them: the call
/// was interrupted and starts again.
constexpr std::int64_t internal_errno_min = 512;

}  // namespace

void TextRecords::write(const Record& record, const SessionInfo& info) {
  record_ = &record;
  info_ = &info;
  fields_ = 0;
  named_ = arguments_ = result_ = false;
  visit_record(record, info.names, *this);
  if (arguments_ && !result_) output_.append(" = ?");
  output_.append('\n');
}

void TextRecords::write_time(std::uint64_t time_ns) {
  const auto [seconds, nanoseconds] = split_seconds(info_->wall(KernelTime(Duration(time_ns))));
  const std::time_t second = seconds;
  if (second != second_) {
    second_ = second;
    std::tm parts{};
    localtime_r(&second, &parts);
    fmt::format_to_n(second_text_, std::size(second_text_), "{:02}:{:02}:{:02}.", parts.tm_hour,
                     parts.tm_min, parts.tm_sec);
  }
  auto micros = nanoseconds / 1000;
  char digits[7];
  for (int i = 5; i >= 0; --i, micros /= 10) digits[i] = static_cast<char>('0' + micros % 10);
  digits[6] = ' ';
  output_.append({second_text_, std::size(second_text_)});
  output_.append({digits, std::size(digits)});
}

void TextRecords::write_duration(std::uint64_t ns) {
  output_.append(duration_text(ns));
}

void TextRecords::write_result(std::int64_t value, std::string_view error) {
  if (!error.empty()) {
    output_.append(value <= -internal_errno_min ? std::string_view("? ") : std::string_view("-1 "));
    return append_printable(output_, error);
  }
  if (value >= address_min || value < -address_min) {
    fmt::memory_buffer text;
    fmt::format_to(std::back_inserter(text), "{:#x}", static_cast<std::uint64_t>(value));
    output_.append({text.data(), text.size()});
  } else {
    output_.append_number(value);
  }
}

void TextRecords::label(std::string_view name) {
  ++fields_;
  if (!named_) {
    named_ = true;  // the kind of record is printed once
    append_printable(output_, record_->schema->name);
  }
  output_.append(' ');
  append_printable(output_, name);
  output_.append('=');
}

void TextRecords::number(std::string_view name, std::uint64_t value, Unit unit) {
  // The header comes first, always in the same order (visit_record).
  if (name == "time_ns" && fields_ == 0) return ++fields_, write_time(value);
  if (name == "pid" && fields_ == 1) return void(++fields_);
  if (name == "tid" && fields_ == 2) {
    ++fields_;
    tid_ = value;
    return;
  }
  if (name == "cpu" && fields_ == 4) return void(++fields_);
  if (name == "cgroup_id" && fields_ == 5) return;
  if (arguments_ && name == "latency_ns") {
    output_.append(" <");
    write_duration(value);
    output_.append('>');
    return;
  }
  if (named_ && unit == Unit::syscall) return;  // same as the name
  label(name);
  if (unit == Unit::nanoseconds)
    write_duration(value);
  else
    output_.append_number(value);
}

void TextRecords::result(std::string_view name, std::int64_t value, std::string_view error) {
  if (arguments_) {
    result_ = true;
    output_.append(" = ");
  } else {
    label(name);
  }
  write_result(value, error);
}

void TextRecords::text(std::string_view name, std::string_view value) {
  if (name == "comm" && fields_ == 3) {
    ++fields_;
    append_printable(output_, value);
    output_.append('[');
    output_.append_number(tid_);
    output_.append("] ");
    return;
  }
  if (name == "name" && !named_) {
    named_ = true;
    return append_printable(output_, value);
  }
  if (name == "refused" && arguments_) {
    output_.append(result_ ? " (refused: " : " = ? (refused: ");
    result_ = true;
    append_printable(output_, value);
    return output_.append(')');
  }
  label(name);
  append_printable(output_, value);
}

void TextRecords::list(std::string_view name, std::span<const std::string_view> values) {
  const bool arguments = name == "args" && named_;
  if (!arguments) label(name);
  arguments_ |= arguments;
  output_.append(arguments ? '(' : '[');
  for (const std::string_view& value : values) {
    if (&value != values.data()) output_.append(", ");
    append_printable(output_, value, Backslashes::kept);
  }
  output_.append(arguments ? ')' : ']');
}

}  // namespace overdue
