#pragma once

#include <string>
#include <string_view>

namespace overdue {

/// A symbol's name as its source has it, without parameters, result, Rust's hash
/// and what an optimiser appends (".cold"), fit to be
/// printed: "std::vector<int>::push_back" of C++, "core::fmt::write" of Rust (both manglings).
/// Anything else, and what is damaged, too long (8 KiB in, 4 KiB out) or nested too deep, comes
/// back as it was, bytes that cannot be printed escaped.
///
/// Done by libiberty, which names Rust's as well, and not by abi::__cxa_demangle: 210 bytes of
/// hostile name make that one write 35 MB, 300 bytes exhaust any memory. libiberty's calls us back
/// for each piece, so that it can be stopped.
std::string demangle(std::string_view name);

}  // namespace overdue
