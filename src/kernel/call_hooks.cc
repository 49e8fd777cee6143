#include "kernel/call_hooks.h"

#include <sys/utsname.h>

#include <cstdio>

#include "kernel/tracefs_events.h"
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

CallHooks choose() {
  if (!preempts_programs()) return CallHooks::raw;
  return tracepoint_id("raw_syscalls", "sys_enter") ? CallHooks::events : CallHooks::preempted;
}

}  // namespace

CallHooks call_hooks() {
  static const CallHooks chosen = choose();
  return chosen;
}

}  // namespace overdue
