#pragma once

namespace overdue {

/// Throws Error unless standard input and output are a terminal (exit status 2), and this machine
/// knows its type. From then on, descriptions of terminals come from the system alone, because
/// their files are parsed with Overdue's rights.
void require_terminal();

}  // namespace overdue
