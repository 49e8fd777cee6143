#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/fd.h"

namespace overdue {

/// A buffered way out: 64 KiB in front of a descriptor. Nothing reaches the descriptor before
/// flush() or a full buffer. Throws Error when the descriptor takes no more (disk full, pipe
/// closed: SIGPIPE must be ignored); what was buffered is then dropped. One thread at a time.
class Output {
 public:
  /// Writes to a descriptor that someone else owns and that outlives this.
  explicit Output(int fd);
  explicit Output(Fd fd);
  /// Appends to `text` instead, at each flush; for tests.
  explicit Output(std::string& text);
  /// Flushes, quietly: whoever cares about the last bytes calls flush() first.
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void append(std::string_view text) {
    if (text.size() > capacity - used_) return append_slowly(text);
    text.copy(buffer_.get() + used_, text.size());
    used_ += text.size();
  }
  void append(char c) {
    if (used_ == capacity) flush();
    buffer_[used_++] = c;
  }
  /// Room for up to `size` bytes (64 KiB at most) written in place; taken() says how many were.
  char* room(std::size_t size) {
    if (size > capacity - used_) flush();
    return buffer_.get() + used_;
  }
  void taken(std::size_t size) { used_ += size; }

  void append_number(std::uint64_t value) {
    const fmt::format_int digits(value);
    append(std::string_view(digits.data(), digits.size()));
  }
  void append_number(std::int64_t value) {
    const fmt::format_int digits(value);
    append(std::string_view(digits.data(), digits.size()));
  }

  /// Where it goes; the Output's.
  int fd() const { return fd_; }

  void flush();

  /// From now on only close() waits for whoever reads: flush() writes what goes at once and keeps
  /// the rest. Who measures must not stand still because a pager does. Beyond 64 MiB that nobody
  /// has taken, each flush() waits a hundredth of a second.
  void wait_at_close_only();

  /// Flushes, waits for whoever reads, and closes a descriptor that it owns, so that what the file
  /// system refuses only then is an Error too. After wait_at_close_only() a signal that we handle
  /// ends the wait, as an Error. The last call.
  void close();

 private:
  static constexpr std::size_t capacity = 64 * 1024;

  void append_slowly(std::string_view text);
  void write_all(std::string_view text);
  void write_waiting(std::string_view text);
  void write_what_fits();
  std::string_view kept() const { return std::string_view(backlog_).substr(backlog_begin_); }
  void took(std::size_t size);

  Fd owned_;
  int fd_ = -1;
  std::string* text_ = nullptr;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
  bool defers_ = false;
  bool is_file_ = false;
  std::string backlog_;  ///< that nobody has taken yet
  std::size_t backlog_begin_ = 0;
};

}  // namespace overdue
