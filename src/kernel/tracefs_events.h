#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace overdue {

/// The folder of tracefs with the tracepoints of a category; empty if there is none. Where tracefs
/// is not mounted, it is mounted privately, for as long as the process lives. Any thread.
std::filesystem::path tracefs_events(const std::string& category);

/// The number by which perf events name a tracepoint; empty if tracefs does not have it. Any
/// thread.
std::optional<std::uint64_t> tracepoint_id(const std::string& category, const std::string& name);

}  // namespace overdue
