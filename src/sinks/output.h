#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/fd.h"

namespace overdue {

/// Buffered output: 64 KiB in front of a descriptor. Nothing reaches the descriptor before flush()
/// or a full buffer. Throws Error when the descriptor takes no more (disk full, pipe closed:
/// SIGPIPE must be ignored); the buffered text is then dropped. Used by one thread at a time.
class Output {
 public:
  /// Writes to a descriptor that the caller owns and that has to outlive this object.
  explicit Output(int fd);
  explicit Output(Fd fd);
  /// Appends to `text` at each flush; for tests.
  explicit Output(std::string& text);
  /// Flushes without reporting errors. If the last bytes matter, call flush() first.
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
  /// Room for up to `size` bytes (64 KiB at most), to be written in place. taken() sets the number
  /// of bytes written.
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

  /// The descriptor; the caller must not close it.
  int fd() const { return fd_; }

  void flush();

  /// From now on, only close() waits for the reader: flush() writes as much as the descriptor takes
  /// at once, and keeps the rest. Measuring must not stop because a pager does. While more than 64
  /// MiB are kept, each flush() waits up to 10 ms.
  void wait_at_close_only();

  /// Flushes, waits for the reader, and closes a descriptor that this object owns, so that errors
  /// that the file system reports only then are thrown, too. After wait_at_close_only(), a signal
  /// that Overdue handles ends the wait, with an Error. Must be the last call.
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
  std::string backlog_;  ///< text that the reader has not taken yet
  std::size_t backlog_begin_ = 0;
};

}  // namespace overdue
