#pragma once

#include <string>

namespace overdue {

/// The bash completion of `overdue`, from the help pages: commands, options, their values where a
/// page lists them, and files.
std::string bash_completion();

}  // namespace overdue
