#include "source/session_start.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/capabilities.h"
#include "kernel/host.h"

namespace overdue {

SessionInfo describe_session(std::string command) {
  const Host host = read_host();
  SessionInfo info;
  info.version = OVERDUE_VERSION;
  info.command = std::move(command);
  info.host = host.name;
  info.kernel = host.kernel;
  info.arch = host.arch;
  info.cpus = host.online_cpus;
  return info;
}

std::filesystem::path require_kernel_tracer(const Kernel& kernel, std::string_view command,
                                            const std::string& tracer) {
  constexpr std::array needed{Capability::sys_admin};
  require_capabilities(command, needed);
  if (!in_initial_pid_namespace())
    throw Error("cannot use the kernel's tracers from inside a PID namespace")
        .hint("run it in the host's: nsenter -t 1 -p");
  require_support(fmt::format("use the kernel's {} tracer", tracer), kernel.tracer(tracer));
  auto path = kernel.tracefs_path();
  if (!path)
    throw Error("no tracefs is mounted").hint("mount -t tracefs tracefs /sys/kernel/tracing");
  return *std::move(path);
}

}  // namespace overdue
