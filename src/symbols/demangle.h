#pragma once

#include <string>
#include <string_view>

namespace overdue {

/// A symbol's name as in its source, safe to print, without parameters, result, Rust's hash and an
/// optimiser's suffix (".cold"): "std::vector<int>::push_back" of C++, "core::fmt::write" of Rust
/// (both manglings). Any other name, and a name that is damaged, too long (8 KiB in, 4 KiB out) or
/// nested too deep, is returned unchanged, with unprintable bytes escaped.
///
/// Uses libiberty, which also knows Rust, and not abi::__cxa_demangle: a hostile name of 210 bytes
/// makes that function write 35 MB, and 300 bytes exhaust any memory. libiberty calls back for each
/// piece, so it can be stopped.
std::string demangle(std::string_view name);

}  // namespace overdue
