#pragma once

#include <filesystem>
#include <memory>
#include <string>

struct btf;

namespace overdue {

/// The running kernel's BTF, read-only. Parsed once and kept while the process lives, since parsing
/// takes 10 to 50 ms. Null if the BTF cannot be read; errno then has the reason. Any thread.
std::shared_ptr<btf> kernel_btf();

/// The string section of a BTF file; empty if the file is none.
std::string btf_strings(const std::filesystem::path& path);

}  // namespace overdue
