#include "probes/syscalls/visit.h"

#include "bpf/syscalls.h"
#include "syscalls/arguments.h"
#include "syscalls/errno_names.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

/// What the program got instead of the call.
std::string_view how_refused(u8 flags) {
  if (flags & SYSCALL_UNRETURNED) return "killed";
  return flags & SYSCALL_TRAPPED ? "SIGSYS" : "answered";
}

void visit_result(const syscall_call& call, FieldVisitor& visitor) {
  if (call.flags & (SYSCALL_UNRETURNED | SYSCALL_UNTIMED | SYSCALL_TRAPPED))
    return visitor.absent("ret");
  const bool failed = call.ret < 0 && call.ret >= -4095;
  visitor.result("ret", call.ret, failed ? errno_name(static_cast<int>(-call.ret)) : std::string());
}

}  // namespace

void visit_call(const Record& record, const Names& names, FieldVisitor& visitor) {
  const auto call = record.as<syscall_call>();
  const std::string_view builtin =
      call.abi == ABI_NATIVE ? builtin_syscall_name(call.abi, call.nr) : "";
  if (builtin.empty())
    visitor.text("name", syscall_name(call.abi, call.nr, names));
  else
    visitor.text("name", builtin);  // the usual case, without a copy
  visitor.number("id", call.nr, Unit::syscall);
  // Reused, because a decoder that has warmed up allocates nothing; one per thread, because it
  // keeps a buffer.
  thread_local ArgumentDecoder decoder;
  const auto text = record.bytes.size() > sizeof call ? record.bytes.subspan(sizeof call)
                                                      : std::span<const std::byte>{};
  visitor.list("args", decoder.decode(call, text));
  visit_result(call, visitor);
  if (call.flags & (SYSCALL_UNRETURNED | SYSCALL_UNTIMED | SYSCALL_REFUSED))
    visitor.absent("latency_ns");
  else
    visitor.number("latency_ns", call.latency_ns, Unit::nanoseconds);
  if (call.flags & SYSCALL_REFUSED)
    visitor.text("refused", how_refused(call.flags));
  else
    visitor.absent("refused");
}

}  // namespace overdue
