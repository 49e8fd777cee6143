#include "kernel/preempted_programs.h"

#include <cstdio>

#include "kernel/host.h"
#include "kernel/tracepoint_types.h"

namespace overdue {
namespace {

/// To read the BTF takes 10 to 50 ms, which no older kernel shall cost.
constexpr int first_major = 7;

bool ask() {
  int major = 0;
  std::sscanf(read_host().kernel.c_str(), "%d", &major);
  return major >= first_major && TracepointTypes().has_function("trace_call_bpf_faultable");
}

}  // namespace

bool preempts_programs() {
  static const bool answer = ask();
  return answer;
}

}  // namespace overdue
