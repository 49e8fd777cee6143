#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace overdue {

/// Settings of a session, by name, as a recording keeps them: see SessionInfo::options.
using KeptOptions = std::map<std::string, std::string>;

/// The setting, or `otherwise` if it is missing, damaged, or beyond `most`.
std::uint64_t kept_number(const KeptOptions& options, std::string_view name,
                          std::uint64_t otherwise, std::uint64_t most = UINT64_MAX);

/// A list of CPUs, as format_cpu_list() writes it. Empty if it is missing or damaged.
std::vector<std::uint32_t> kept_cpus(const KeptOptions& options, std::string_view name);

}  // namespace overdue
