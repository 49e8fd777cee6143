#include "probes/syscalls/visit.h"

#include "probes/syscalls/arguments.h"
#include "probes/syscalls/errno_names.h"
#include "probes/syscalls/names.h"
#include "probes/syscalls/syscalls.h"

namespace overdue {

void visit_call(const Record& record, const Names& names, FieldVisitor& visitor) {
  const auto call = record.as<syscall_call>();
  const std::string_view builtin =
      call.abi == ABI_NATIVE ? builtin_syscall_name(call.abi, call.nr) : "";
  if (builtin.empty())
    visitor.text("name", syscall_name(call.abi, call.nr, names));
  else
    visitor.text("name", builtin);  // the usual case, without a copy
  visitor.number("id", call.nr, Unit::syscall);
  // Reused, because a decoder that has warmed up allocates nothing; one a thread, because it keeps
  // a buffer.
  thread_local ArgumentDecoder decoder;
  const auto text = record.bytes.size() > sizeof call ? record.bytes.subspan(sizeof call)
                                                      : std::span<const std::byte>{};
  visitor.list("args", decoder.decode(call, text));
  if (call.flags & (SYSCALL_UNRETURNED | SYSCALL_UNTIMED))
    return;  // no return value and no latency to show
  const bool failed = call.ret < 0 && call.ret >= -4095;
  visitor.result("ret", call.ret, failed ? errno_name(static_cast<int>(-call.ret)) : std::string());
  visitor.number("latency_ns", call.latency_ns, Unit::nanoseconds);
}

}  // namespace overdue
