#include "sinks/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace overdue {

Output::Output(int fd) : fd_(fd), buffer_(std::make_unique<char[]>(capacity)) {}

Output::Output(Fd fd)
    : owned_(std::move(fd)), fd_(owned_.get()), buffer_(std::make_unique<char[]>(capacity)) {}

Output::Output(std::string& text) : text_(&text), buffer_(std::make_unique<char[]>(capacity)) {}

Output::~Output() {
  try {
    flush();
  } catch (const Error&) {  // a destructor has nobody to tell
  }
}

void Output::flush() {
  const std::string_view pending(buffer_.get(), std::exchange(used_, 0));
  write_all(pending);
}

void Output::close() {
  flush();
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
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      // The traced program shares our terminal or pipe and may have made it non-blocking.
      pollfd ready{fd_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      throw Error("cannot write the report: {}", errno_text(written == 0 ? EIO : errno));
    }
  }
}

}  // namespace overdue
