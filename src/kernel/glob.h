#pragma once

#include <string_view>

#include "bpf/glob.h"

namespace overdue {

/// Whether the pattern is short enough for a thread's name, which has at most 15 characters.
bool fits_thread_name(std::string_view pattern);

/// Compiles a thread-name glob (`*`, `?`, `[a-z]`, `[!a-z]`, `\\x`; the syntax of glob_matches())
/// for BPF programs. Throws Error (exit status 2) for a pattern that does not fit.
glob_program compile_glob(std::string_view pattern);

/// The same computation as in BPF programs; for tests.
bool matches(const glob_program& program, std::string_view name);

}  // namespace overdue
