#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/session_info.h"
#include "kernel/features.h"

namespace overdue {

/// The description of a session of `command` on this machine, without its start, target and probes.
SessionInfo describe_session(std::string command);

/// Checks that `command` can use the kernel's tracer `tracer`. Returns the path of tracefs, which
/// is valid as long as `kernel`. Throws Error otherwise; changes nothing.
std::filesystem::path require_kernel_tracer(const Kernel& kernel, std::string_view command,
                                            const std::string& tracer);

}  // namespace overdue
