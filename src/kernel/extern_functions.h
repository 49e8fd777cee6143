#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

struct btf;

namespace overdue {

class TracepointTypes;

/// The kernel functions that are optional for a BPF object of this build (`__weak __ksym`). `file`
/// is its ELF file, which has the names; `types_of_file` are its types.
std::vector<const char*> weak_functions(std::span<const std::byte> file, const btf* types_of_file);

/// Those `functions` that this kernel has with another prototype. libbpf refuses a whole object for
/// a single one, even if no program that calls the function is loaded.
std::vector<std::string> functions_unlike(std::span<const char* const> functions,
                                          const btf* types_of_file, const TracepointTypes& types);

/// The file with `functions` renamed to names that no kernel has: an absent weak function harms no
/// object. Throws Error if a name is not in the file in the way in which clang writes names.
std::vector<std::byte> without_functions(std::span<const std::byte> file,
                                         std::span<const std::string> functions);

}  // namespace overdue
