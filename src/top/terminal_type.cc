#include "top/terminal_type.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace overdue {

void require_terminal() {
  const bool has_output = isatty(STDOUT_FILENO) == 1;
  if (!has_output || isatty(STDIN_FILENO) != 1)
    throw Error("top draws on a terminal, and standard {} is none", has_output ? "input" : "output")
        .hint("overdue why writes one report; overdue stalls writes a line for each delay")
        .exit_status(2);
  // LINES and COLUMNS are the size of another time.
  for (const char* const name :
       {"TERMINFO", "TERMINFO_DIRS", "TERMCAP", "TERMPATH", "HOME", "LINES", "COLUMNS"})
    unsetenv(name);
  const char* const set = std::getenv("TERM");
  const std::string type = set ? printable(set) : "";
  int found = 0;
  if (setupterm(nullptr, STDOUT_FILENO, &found) != OK)
    throw Error(
        "cannot draw on this terminal: no description of '{}' in /etc/terminfo, /lib/terminfo or "
        "/usr/share/terminfo",
        type)
        .hint("TERM=xterm overdue top …, or install the description (Debian: ncurses-term)");
  if (!cursor_address)
    throw Error("cannot draw on this terminal: '{}' has no way to place its cursor", type)
        .hint("overdue why writes one report");
}

}  // namespace overdue
