#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

struct btf;

namespace overdue {

class TracepointTypes;

/// Functions of the kernel that a BPF object of this build may do without (`__weak __ksym`). `file`
/// is its ELF file, in which the names are; `types_of_file` are its types.
std::vector<const char*> weak_functions(std::span<const std::byte> file, const btf* types_of_file);

/// Those of them that this kernel has with another prototype. libbpf refuses a whole object for
/// one, even where no program that calls the function is loaded.
std::vector<std::string> functions_unlike(std::span<const char* const> functions,
                                          const btf* types_of_file, const TracepointTypes& types);

/// The file with those functions renamed to ones that no kernel has: a weak function that is absent
/// harms no object. Throws Error where the file does not name a function as clang writes names.
std::vector<std::byte> without_functions(std::span<const std::byte> file,
                                         std::span<const std::string> functions);

}  // namespace overdue
