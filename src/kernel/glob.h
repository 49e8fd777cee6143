#pragma once

#include <string_view>

#include "kernel/membership_wire.h"

namespace overdue {

/// Compiles a thread-name glob (`*`, `?`, `[a-z]`, `[!a-z]`, `\\x`; the syntax of glob_matches())
/// for the kernel side. Throws Error (exit status 2) for one that no thread's name of 15 characters
/// could match.
glob_program compile_glob(std::string_view pattern);

/// What the kernel side computes; for tests.
bool matches(const glob_program& program, std::string_view name);

}  // namespace overdue
