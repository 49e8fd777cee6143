#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace overdue {

/// The cgroup that keeps a process frozen at present, the process's own or one above: "cgroup
/// /batch is frozen (freezer.state)". Empty: none, or not known. `proc`: with the mounts and the
/// process.
std::string freezer_text(std::uint32_t pid, const std::filesystem::path& proc = "/proc");

}  // namespace overdue
