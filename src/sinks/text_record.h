#pragma once

#include <cstdint>
#include <string_view>

#include "core/record.h"
#include "core/session_info.h"
#include "sinks/output.h"

namespace overdue {

/// Writes records as lines. A record whose first own field is its name looks like strace's output:
///   12:34:56.123456 comm[tid] openat(dirfd=AT_FDCWD, pathname="/etc/passwd") = 3 <12.3us>
/// Any other record is its schema's name and `field=value` pairs. Text is made printable(). This
/// path runs once per recorded call.
class TextRecords : public FieldVisitor {
 public:
  explicit TextRecords(Output& output) : output_(output) {}

  void write(const Record& record, const SessionInfo& info);

  void number(std::string_view name, std::uint64_t value, Unit unit) override;
  void result(std::string_view name, std::int64_t value, std::string_view error) override;
  void text(std::string_view name, std::string_view value) override;
  void list(std::string_view name, std::span<const std::string_view> values) override;

 private:
  void write_time(std::uint64_t time_ns);
  void write_duration(std::uint64_t ns);
  void write_result(std::int64_t value, std::string_view error);
  void label(std::string_view name);

  Output& output_;
  const Record* record_ = nullptr;  ///< during write()
  const SessionInfo* info_ = nullptr;
  unsigned fields_ = 0;  ///< fields seen of this record
  std::uint64_t tid_ = 0;
  bool named_ = false;               ///< the name is written
  bool arguments_ = false;           ///< the arguments are written
  bool result_ = false;              ///< the result is written
  std::int64_t second_ = INT64_MIN;  ///< second of the last time: local time is slow to compute
  char second_text_[9] = {};         ///< "12:34:56"
};

}  // namespace overdue
