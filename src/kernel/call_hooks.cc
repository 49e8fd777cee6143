#include "kernel/call_hooks.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>

#include "kernel/tracepoint_types.h"

namespace overdue {
namespace {

/// Older kernels skip reading the BTF, which takes 10 to 50 ms.
constexpr int first_major = 7;

bool preempts_programs() {
  utsname names{};
  int major = 0;
  if (uname(&names) == 0) std::sscanf(names.release, "%d", &major);
  return major >= first_major && TracepointTypes().has_function("trace_call_bpf_faultable");
}

/// Looks for the tracepoint in the places where libbpf does.
bool has_events() {
  for (const char* id : {"/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id",
                         "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"})
    if (::access(id, R_OK) == 0) return true;
  return false;
}

CallHooks choose() {
  if (!preempts_programs()) return CallHooks::raw;
  return has_events() ? CallHooks::events : CallHooks::preempted;
}

}  // namespace

CallHooks call_hooks() {
  static const CallHooks chosen = choose();
  return chosen;
}

}  // namespace overdue
