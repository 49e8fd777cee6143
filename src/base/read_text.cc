#include "base/read_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"

namespace overdue {

std::optional<std::string> read_text(const std::filesystem::path& path, std::size_t limit,
                                     Links links) {
  // O_NONBLOCK: a hostile owner may have put a FIFO in the place of the file.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const Fd file(::open(path.c_str(), links == Links::follow ? flags : flags | O_NOFOLLOW));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) return std::nullopt;
  if (!S_ISREG(facts.st_mode)) {
    errno = EINVAL;
    return std::nullopt;
  }
  std::string text;
  std::array<char, 16u << 10> part;  // left as it is: most files of /proc have a few bytes
  while (text.size() <= limit) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got == 0) return text;
    if (got > 0)
      text.append(part.data(), static_cast<std::size_t>(got));
    else if (errno != EINTR)
      return std::nullopt;
  }
  errno = EFBIG;
  return std::nullopt;
}

std::string read_word(const std::filesystem::path& path) {
  constexpr std::string_view blank = " \t\n";
  const std::string text = read_text(path).value_or("");
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

bool has_word(std::string_view text, std::string_view word) {
  constexpr std::string_view blank = " \t\n";
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(blank);
    if (text.substr(0, end) == word) return true;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace overdue
