#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace overdue {

/// The CPU numbers of a list such as `0-3,5`, ascending, each once. Throws Error (exit status 2) if
/// `text` is not a list, is empty, or names a CPU that is not in `possible`.
std::vector<std::uint32_t> parse_cpu_list(std::string_view text,
                                          std::span<const std::uint32_t> possible);

/// The CPUs that this machine can have, from `sys`/devices/system/cpu/possible. Throws Error if the
/// file is unreadable or malformed.
std::vector<std::uint32_t> possible_cpus(const std::filesystem::path& sys = "/sys");

/// The CPUs that any machine can have, for lists about another machine.
std::vector<std::uint32_t> cpus_of_any_machine();

/// The CPUs that are online now, from `sys`/devices/system/cpu/online. Throws Error likewise.
std::vector<std::uint32_t> online_cpus(const std::filesystem::path& sys = "/sys");

/// The shortest list (`0-3,5`) that parse_cpu_list() reads back as `cpus`. `cpus` is ascending.
std::string format_cpu_list(std::span<const std::uint32_t> cpus);

}  // namespace overdue
