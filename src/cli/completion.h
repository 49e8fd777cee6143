#pragma once

#include <string>

namespace overdue {

/// The completion script of `overdue` for a shell, made from the help pages: commands, options, the
/// option values that a page lists, files, and programs after `--`.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace overdue
