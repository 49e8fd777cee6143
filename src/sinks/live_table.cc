#include "sinks/live_table.h"

#include <sys/ioctl.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {

ScreenSize screen_size(int fd) {
  ScreenSize screen;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) return screen;
  if (size.ws_col > 0) screen.columns = size.ws_col;
  if (size.ws_row > 0) screen.lines = size.ws_row;
  return screen;
}

std::size_t screen_lines(std::string_view text, std::size_t columns) {
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::size_t width = display_width(text.substr(0, end));
    lines += std::max<std::size_t>(1, (width + columns - 1) / columns);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view what_fits(std::string_view text, const ScreenSize& screen) {
  std::size_t end = text.size();
  // The cursor takes a line, too.
  while (end > 0 && screen_lines(text.substr(0, end), screen.columns) >= screen.lines) {
    const std::size_t line = end < 2 ? text.npos : text.rfind('\n', end - 2);
    end = line == text.npos ? 0 : line + 1;
  }
  return text.substr(0, end);
}

void LiveTable::draw(std::string_view text, bool last) {
  const ScreenSize screen = screen_size(output_.fd());
  // Count with the present width: the terminal has reflowed the drawn text.
  if (const std::size_t lines = screen_lines(drawn_, screen.columns); lines > 0)
    output_.append(fmt::format("\x1b[{}A\x1b[J", lines));
  drawn_ = last ? text : what_fits(text, screen);
  output_.append(drawn_);
  if (last) drawn_.clear();
  output_.flush();
}

}  // namespace overdue
