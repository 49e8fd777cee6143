#include "sinks/output.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.h"

namespace overdue {
namespace {

constexpr std::size_t max_kept = 64u << 20;
constexpr int status_of_closed_pipe = 128 + SIGPIPE;  // as if the signal had killed Overdue

[[noreturn]] void throw_not_written(int code) {
  Error error("cannot write the report: {}", errno_text(code));
  if (code == EPIPE) throw std::move(error).exit_status(status_of_closed_pipe).silently();
  throw error;
}

}  // namespace

Output::Output(int fd) : fd_(fd), buffer_(std::make_unique<char[]>(capacity)) {}

Output::Output(Fd fd)
    : owned_(std::move(fd)), fd_(owned_.get()), buffer_(std::make_unique<char[]>(capacity)) {}

Output::Output(std::string& text) : text_(&text), buffer_(std::make_unique<char[]>(capacity)) {}

Output::~Output() {
  try {
    flush();
  } catch (const Error&) {  // a destructor cannot report errors
  }
}

void Output::flush() {
  const std::string_view pending(buffer_.get(), std::exchange(used_, 0));
  write_all(pending);
}

void Output::wait_at_close_only() {
  struct stat status{};
  is_file_ = ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
  defers_ = true;
}

void Output::close() {
  flush();
  while (!kept().empty()) {
    pollfd ready{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, -1) < 0 && errno == EINTR) {
      backlog_.clear();
      throw Error("cannot write the whole report: it is not read, and a signal ended the wait");
    }
    write_what_fits();
  }
  if (!owned_) return;
  fd_ = -1;
  if (const int code = owned_.close()) throw Error("cannot write the report: {}", errno_text(code));
}

void Output::append_slowly(std::string_view text) {
  flush();
  if (text.size() > capacity) return write_all(text);
  append(text);
}

void Output::write_all(std::string_view text) {
  if (text_ != nullptr) {
    text_->append(text);
    return;
  }
  if (!defers_) return write_waiting(text);
  backlog_.append(text);
  write_what_fits();
}

void Output::took(std::size_t size) {
  backlog_begin_ += size;
  if (backlog_begin_ < backlog_.size() && backlog_begin_ < capacity) return;
  backlog_.erase(0, backlog_begin_);
  backlog_begin_ = 0;
}

void Output::write_what_fits() {
  while (!kept().empty()) {
    pollfd ready{fd_, POLLOUT, 0};
    const int wait_ms = kept().size() > max_kept ? 10 : 0;
    if (::poll(&ready, 1, wait_ms) <= 0) return;
    // A pipe or terminal that is ready takes PIPE_BUF bytes at once (pipe(7)).
    const std::size_t size =
        is_file_ ? kept().size() : std::min<std::size_t>(kept().size(), PIPE_BUF);
    const ssize_t written = ::write(fd_, kept().data(), size);
    if (written > 0) {
      took(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      return;
    } else if (written == 0 || errno != EINTR) {
      const int code = written == 0 ? EIO : errno;
      backlog_.clear();
      backlog_begin_ = 0;
      throw_not_written(code);
    }
  }
}

void Output::write_waiting(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      // The traced program shares the terminal or pipe, and may have made it non-blocking.
      pollfd ready{fd_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      throw_not_written(written == 0 ? EIO : errno);
    }
  }
}

}  // namespace overdue
