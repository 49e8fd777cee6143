#include "top/screen.h"

#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "source/stop_signals.h"

namespace overdue {
namespace {

constexpr int escape_ms = 25, control_l = 12, escape = 27, del = 127;
constexpr int drain_ms = 200;  // wait for a terminal that takes no text, before the process ends
constexpr int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
constexpr int taken_by_ncurses[] = {SIGTSTP, SIGWINCH};

// A signal handler can only reach static storage.
struct Former {
  termios mode{};
  char text[512] = {};  ///< ends the screen
  std::size_t size = 0;
  struct sigaction actions[std::size(crashes)] = {};
  struct sigaction of_ncurses[std::size(taken_by_ncurses)] = {};
};
Former former;
volatile sig_atomic_t is_shown = 0;

/// Adds a capability of the terminal to the text, without the pauses ("$<5>") in it.
void add_capability(const char* name) {
  const char* const text = tigetstr(name);
  if (!text) return;
  std::string_view rest = text;
  while (!rest.empty() && former.size < sizeof former.text) {
    const std::size_t end = rest.starts_with("$<") ? rest.find('>') : rest.npos;
    if (end == rest.npos) former.text[former.size++] = rest.front();
    rest.remove_prefix(end == rest.npos ? 1 : end + 1);
  }
}

/// Async-signal-safe.
void restore() {
  if (!is_shown) return;
  is_shown = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &former.mode);
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&output, 1, drain_ms) != 1) return;
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, former.text, former.size);
}

void on_crash(int number) {
  restore();
  for (std::size_t i = 0; i < std::size(crashes); ++i)
    if (crashes[i] == number) sigaction(number, &former.actions[i], nullptr);
  raise(number);  // takes effect when this function returns
}

/// Keeps what ends the screen, because ncurses allocates memory.
void keep_the_end() {
  former.size = 0;
  for (const char* const name : {"sgr0", "rmkx", "cnorm", "rmcup"}) add_capability(name);
}

std::optional<TopKey::Kind> kind_of(int key) {
  using Kind = TopKey::Kind;
  switch (key) {
    case KEY_UP:
      return Kind::up;
    case KEY_DOWN:
      return Kind::down;
    case KEY_PPAGE:
      return Kind::page_up;
    case KEY_NPAGE:
      return Kind::page_down;
    case KEY_HOME:
      return Kind::home;
    case KEY_END:
      return Kind::end;
    case '\n':
    case '\r':
    case KEY_ENTER:
      return Kind::enter;
    case escape:
      return Kind::escape;
    case KEY_BACKSPACE:
    case '\b':
    case del:
      return Kind::backspace;
    case KEY_RESIZE:
    case control_l:
      return Kind::redraw;
    default:
      return std::nullopt;
  }
}

attr_t attribute_of(TopCell::Style style) {
  if (style == TopCell::Style::heading) return A_BOLD;
  return style == TopCell::Style::selected ? A_REVERSE : A_NORMAL;
}

/// The bytes of `text` that take at most `width` columns. A character of two columns that would
/// pass the limit is left out.
std::size_t bytes_that_fit(std::string_view text, std::size_t width) {
  std::size_t bytes = 0, columns = 0;
  while (bytes < text.size()) {
    const std::string_view rest = text.substr(bytes);
    const std::size_t length = std::max<std::size_t>(1, printable_length(rest));
    wchar_t character = 0;
    const int read = mbtowc(&character, &rest.front(), std::min(length, rest.size()));
    const int taken = read > 0 ? wcwidth(character) : 1;
    columns += taken > 0 ? static_cast<std::size_t>(taken) : 0;
    if (columns > width) break;
    bytes += length;
  }
  return bytes;
}

}  // namespace

TopScreen::TopScreen() {
  // Names are UTF-8 everywhere in Overdue; this locale is part of the C library.
  setlocale(LC_CTYPE, "C.UTF-8");
  tcgetattr(STDIN_FILENO, &former.mode);
  for (std::size_t i = 0; i < std::size(taken_by_ncurses); ++i)
    sigaction(taken_by_ncurses[i], nullptr, &former.of_ncurses[i]);
  SCREEN* const screen = newterm(nullptr, stdout, stdin);
  if (!screen) throw Error("cannot draw on this terminal");
  screen_ = screen;
  keep_the_end();
  is_shown = 1;
  struct sigaction action{};
  action.sa_handler = on_crash;
  for (std::size_t i = 0; i < std::size(crashes); ++i)
    sigaction(crashes[i], &action, &former.actions[i]);
  StopSignals::before_the_second(restore);
  set_escdelay(escape_ms);
  cbreak();
  noecho();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  curs_set(0);
}

TopScreen::~TopScreen() {
  StopSignals::before_the_second(nullptr);
  endwin();
  is_shown = 0;
  for (std::size_t i = 0; i < std::size(crashes); ++i)
    sigaction(crashes[i], &former.actions[i], nullptr);
  for (std::size_t i = 0; i < std::size(taken_by_ncurses); ++i)
    sigaction(taken_by_ncurses[i], &former.of_ncurses[i], nullptr);
  delscreen(static_cast<SCREEN*>(screen_));
}

std::size_t TopScreen::columns() const {
  return static_cast<std::size_t>(std::max(1, COLS));
}

std::size_t TopScreen::lines() const {
  return static_cast<std::size_t>(std::max(1, LINES));
}

void TopScreen::draw(const std::vector<TopCell>& cells) {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&output, 1, 0) != 1) return;  // measuring does not stop because a terminal does
  werase(stdscr);
  for (const TopCell& cell : cells) {
    if (cell.line >= lines() || cell.column >= columns()) continue;
    const std::size_t room = std::min(cell.width, columns() - cell.column);
    wattrset(stdscr, static_cast<int>(attribute_of(cell.style)));
    mvwaddnstr(stdscr, static_cast<int>(cell.line), static_cast<int>(cell.column),
               cell.text.c_str(), static_cast<int>(bytes_that_fit(cell.text, room)));
  }
  wrefresh(stdscr);
}

void TopScreen::forget() {
  clearok(curscr, TRUE);
}

std::optional<TopKey> TopScreen::key() {
  while (true) {
    const int pressed = wgetch(stdscr);
    if (pressed == ERR) return std::nullopt;
    if (const auto kind = kind_of(pressed)) return TopKey{.kind = *kind};
    if (pressed >= ' ' && pressed <= 0xff)
      return TopKey{.kind = TopKey::Kind::character, .character = static_cast<char>(pressed)};
  }
}

bool TopScreen::is_gone() const {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&input, 1, 0) == 1 && (input.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace overdue
