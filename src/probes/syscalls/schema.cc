#include "bpf/call_object.h"
#include "bpf/signals.h"
#include "core/origin_fields.h"
#include "kernel/features.h"
#include "probes/syscalls/probe.h"
#include "probes/syscalls/visit.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr Field call_fields[] = {
    OVERDUE_FIELD(syscall_call, latency_ns, nanoseconds, duration,
                  "from entry to return, inside the kernel"),
    OVERDUE_FIELD(syscall_call, ret, result, value,
                  "what it returned; -1 to -4095 are errno values"),
    OVERDUE_FIELD(syscall_call, arguments, opaque, value,
                  "its six arguments as the kernel got them"),
    OVERDUE_FIELD(syscall_call, nr, syscall, key, "system call number"),
    OVERDUE_FIELD(syscall_call, abi, abi, key, "0: x86-64, 1: i386, 2: x32"),
    OVERDUE_FIELD(syscall_call, text_size, bytes, value,
                  "bytes of string arguments behind the record"),
    OVERDUE_FIELD(syscall_call, text_arguments, opaque, value,
                  "bit i: argument i is one of those strings"),
    OVERDUE_FIELD(syscall_call, text_truncated, opaque, value, "bit i: argument i was cut"),
    OVERDUE_FIELD(syscall_call, flags, opaque, value,
                  "1: the thread ended inside the call; 2: first seen after the discovery phase; "
                  "4: only counted, its exit had no hook, or none yet; 8: refused, seccomp or a "
                  "tracer answered it before it began; 16: … with SIGSYS, without a result"),
    OVERDUE_FIELD(syscall_call, caller, opaque, key,
                  "the number of its caller; 0: callers were not asked for"),
};

constexpr Field cell_fields[] = {
    OVERDUE_FIELD(syscall_cell, errors, count, value, "calls that returned an errno value"),
    OVERDUE_FIELD(syscall_cell, unreturned, count, value,
                  "calls that never returned: the thread ended inside"),
    OVERDUE_FIELD(syscall_cell, nr, syscall, key, "system call number"),
    OVERDUE_FIELD(syscall_cell, abi, abi, key, "0: x86-64, 1: i386, 2: x32"),
    OVERDUE_FIELD(syscall_cell, late, count, value, "1: first seen after the discovery phase"),
    OVERDUE_FIELD(syscall_cell, untimed, count, value,
                  "calls that were counted, not timed: their exit had no hook, or none yet"),
    OVERDUE_FIELD(syscall_cell, errnos, opaque, value, "the first errno values seen, with counts"),
    OVERDUE_FIELD(syscall_cell, latency, histogram, duration,
                  "latencies of the calls that returned"),
    OVERDUE_FIELD(syscall_cell, caller, opaque, key,
                  "the number of their caller; 0: callers were not asked for"),
    OVERDUE_FIELD(syscall_cell, failed, count, value,
                  "of the unreturned calls: the thread ended with an exit status that is not 0"),
    OVERDUE_FIELD(syscall_cell, refused, count, value,
                  "calls that seccomp or a tracer answered before they began"),
    ORIGIN_FIELDS(syscall_cell),
};

constexpr Field open_fields[] = {
    OVERDUE_FIELD(syscall_open, age_ns, nanoseconds, duration,
                  "how long it had been open at the end"),
    OVERDUE_FIELD(syscall_open, nr, syscall, key, "system call number"),
    OVERDUE_FIELD(syscall_open, abi, abi, key, "0: x86-64, 1: i386, 2: x32"),
    OVERDUE_FIELD(syscall_open, flags, opaque, value,
                  "1: it began before the session, the age is a lower bound"),
};

constexpr Field syscall_stack_fields[] = {
    OVERDUE_FIELD(caller_stack, start_code, opaque, value, "begin of the program's own code"),
    OVERDUE_FIELD(caller_stack, end_code, opaque, value, "its end"),
    OVERDUE_FIELD(caller_stack, number, opaque, key, "as in the call's record"),
    OVERDUE_FIELD(caller_stack, space, opaque, key, "the process between two changes of its code"),
    OVERDUE_FIELD(caller_stack, user_bytes, bytes, value, "of the stack, behind the registers"),
};

constexpr Field handler_fields[] = {
    OVERDUE_FIELD(signal_handler, begin_ns, nanoseconds, value,
                  "when the handler began (CLOCK_MONOTONIC)"),
    OVERDUE_FIELD(signal_handler, signal, none, key, "number of the signal"),
};

constexpr Field object_fields[] = {
    OVERDUE_FIELD(call_object, inode, none, value, "number of its inode"),
    OVERDUE_FIELD(call_object, written_ns, nanoseconds, value,
                  "time from the last data sent over TCP to the call's end, in steps of the tick"),
    OVERDUE_FIELD(call_object, received_ns, nanoseconds, value,
                  "the same from the last data received"),
    OVERDUE_FIELD(call_object, resent_ns, nanoseconds, value,
                  "from the first time that this data was sent to the last time"),
    OVERDUE_FIELD(call_object, fd, none, key, "the descriptor"),
    OVERDUE_FIELD(call_object, family, none, value, "address family of a socket"),
    OVERDUE_FIELD(call_object, socket_type, none, value, "type of a socket"),
    OVERDUE_FIELD(call_object, local_port, none, value, "port of a socket"),
    OVERDUE_FIELD(call_object, remote_port, none, value, "port of the socket's peer"),
    OVERDUE_FIELD(call_object, path_size, bytes, value, "bytes of the path"),
    OVERDUE_FIELD(call_object, protocol, none, value, "protocol of a socket"),
    OVERDUE_FIELD(call_object, object, none, value,
                  "1: file; 2: pipe; 3: socket; 4: unix socket; 5: internal file"),
    OVERDUE_FIELD(
        call_object, flags, opaque, value,
        "1: asked for the connection; 2: was asked; 4: accepts connections; 8: written_ns "
        "and received_ns are known; 16: the path is cut; 32: the file has been unlinked"),
    OVERDUE_FIELD(call_object, argument, none, key,
                  "index of the descriptor's argument; 128 more: the only one of a poll"),
    OVERDUE_FIELD(call_object, resends, count, value,
                  "how often TCP sent this data again, for lack of an acknowledgement"),
    OVERDUE_FIELD(call_object, local, opaque, value, "address of a socket"),
    OVERDUE_FIELD(call_object, remote, opaque, value, "address of the socket's peer"),
    OVERDUE_FIELD(call_object, path, opaque, value,
                  "parts of a file's path, innermost first; name of a unix socket"),
};

// The sched probe lists span_schema, which late calls have too: many probes share it.
constexpr const Schema* syscall_schemas[] = {&syscall_call_schema, &syscall_cell_schema,
                                             &syscall_open_schema, &signal_handler_schema,
                                             &call_object_schema};

Support syscall_support(const Kernel& kernel) {
  return kernel.session({"sys_enter", "sys_exit"});
}

}  // namespace

const Schema syscall_call_schema{.id = RECORD_SYSCALL_CALL,
                                 .name = "call",
                                 .size = sizeof(syscall_call),
                                 .fields = call_fields,
                                 .help = "one system call",
                                 .visit = visit_call};
const Schema syscall_cell_schema{
    .id = RECORD_SYSCALL_CELL,
    .name = "syscall_cell",
    .size = sizeof(syscall_cell),
    .fields = cell_fields,
    .help = "the calls of one number, by one thread or on one CPU, in one interval"};
const Schema syscall_open_schema{.id = RECORD_SYSCALL_OPEN,
                                 .name = "syscall_open",
                                 .size = sizeof(syscall_open),
                                 .fields = open_fields,
                                 .help = "a system call still open when the session ended"};

const Schema caller_stack_schema{.id = RECORD_CALLER_STACK,
                                 .name = "caller_stack",
                                 .size = sizeof(caller_stack),
                                 .fields = syscall_stack_fields,
                                 .help = "the stack a call was made from"};

const Schema signal_handler_schema{
    .id = RECORD_SIGNAL_HANDLER,
    .name = "signal_handler",
    .size = sizeof(signal_handler),
    .fields = handler_fields,
    .help = "the handler of a signal that ran behind a late call's end"};

const Schema call_object_schema{.id = RECORD_CALL_OBJECT,
                                .name = "call_object",
                                .size = sizeof(call_object),
                                .fields = object_fields,
                                .help = "the object behind the descriptor of a late call"};

extern const std::string_view syscalls_manual;

const ProbeInfo syscalls_probe{.name = "syscalls",
                               .summary = "system calls: counts, errors and latency, or every call",
                               .manual = syscalls_manual,
                               .schemas = syscall_schemas,
                               .support = syscall_support};

}  // namespace overdue
