#pragma once

#include <string_view>

#include "bpf/glob.h"

namespace overdue {

/// Whether the pattern is short enough for a thread's name, of which the kernel keeps 15
/// characters.
bool fits_thread_name(std::string_view pattern);

/// Compiles a thread-name glob (`*`, `?`, `[a-z]`, `[!a-z]`, `\\x`; the syntax of glob_matches())
/// for the kernel side. Throws Error (exit status 2) for one that does not fit.
glob_program compile_glob(std::string_view pattern);

/// What the kernel side computes; for tests.
bool matches(const glob_program& program, std::string_view name);

}  // namespace overdue
