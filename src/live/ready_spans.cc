#include "live/ready_spans.h"

#include <algorithm>

#include <fmt/format.h>

namespace overdue {
namespace {

// The file behind a descriptor, and the socket behind the first argument of a system call.
#define FILE_OF(descriptor) "read_u64(current->files->fdt->fd + (" descriptor " << 3))"
#define FILE_OF_ARGUMENT FILE_OF("user_regs->di")
#define SOCKET_OF_ARGUMENT "as_socket(as_file(" FILE_OF_ARGUMENT ")->private_data)->sk"
#define ARGUMENT_IS_SOCKET "(as_file(" FILE_OF_ARGUMENT ")->f_inode->i_mode & 0xf000) == 0xc000"
// Whether the text at the second argument begins with these four bytes.
#define TEXT_IS(bytes) "read_user_u32(user_regs->si) == " bytes

// One entry per span. A definition is as after `--span NAME=`: alternatives that the target or the
// kernel does not have are left out.
constexpr ReadySpan
    table
        [] =
            {
                // The stack pointer keeps calls apart that are interrupted by others of the same
                // thread.
                {"dns", "a name looked up: from the call of getaddrinfo() to its return",
                 "a C library",
                 "begin:uprobe:@libc.so.6:getaddrinfo | uprobe:@libc-2*.so:getaddrinfo"
                 " | uprobe:@ld-musl-*.so.1:getaddrinfo,"
                 "end:uretprobe:@libc.so.6:getaddrinfo | uretprobe:@libc-2*.so:getaddrinfo"
                 " | uretprobe:@ld-musl-*.so.1:getaddrinfo,"
                 "key:tid;sp,end-key:tid;sp - 8"},
                // Simple and prepared statements alike: from the first message about a statement
                // until the
                // server process is idle again, also after an error. A parallel worker ends by
                // exiting.
                {"postgres-query",
                 "a statement: from its arrival until the server process is idle again",
                 "PostgreSQL with USDT probes",
                 "begin:usdt:@postgres:postgresql:statement__status,"
                 "end:usdt:@postgres:postgresql:statement__status,"
                 "drop:sched:sched_process_exit,key:tid,filter:arg0 != 0,end-filter:arg0 == "
                 "0,repeat:first"},
                {"postgres-txn", "a transaction: from its start to commit or abort",
                 "PostgreSQL with USDT probes",
                 "begin:usdt:@postgres:postgresql:transaction__start,"
                 "end:usdt:@postgres:postgresql:transaction__commit"
                 " | usdt:@postgres:postgresql:transaction__abort,"
                 "drop:sched:sched_process_exit,key:tid"},
                // Commands of scripts and transactions are calls within a call. Debian calls the
                // server's file
                // redis-check-rdb.
                {"redis-command", "a command carried out: from the call of call() to its return",
                 "Redis or Valkey with names of functions",
                 "begin:uprobe:@redis-*:call | uprobe:@valkey-*:call,"
                 "end:uretprobe:@redis-*:call | uretprobe:@valkey-*:call,"
                 "key:tid;sp,end-key:tid;sp - 8"},
                {"epoll-tick",
                 "a turn of an event loop: from the return of epoll_wait() to the thread's next "
                 "call",
                 "",
                 "begin:syscalls:sys_exit_epoll_wait | syscalls:sys_exit_epoll_pwait"
                 " | syscalls:sys_exit_epoll_pwait2,"
                 "end:syscalls:sys_enter_epoll_wait | syscalls:sys_enter_epoll_pwait"
                 " | syscalls:sys_enter_epoll_pwait2,"
                 "drop:sched:sched_process_exit,key:tid,filter:ret >= 0,owner:both"},
                {"poll-tick",
                 "a turn of an event loop: from the return of poll() or select() to the thread's "
                 "next call",
                 "",
                 "begin:syscalls:sys_exit_poll | syscalls:sys_exit_ppoll | syscalls:sys_exit_select"
                 " | syscalls:sys_exit_pselect6,"
                 "end:syscalls:sys_enter_poll | syscalls:sys_enter_ppoll | "
                 "syscalls:sys_enter_select"
                 " | syscalls:sys_enter_pselect6,"
                 "drop:sched:sched_process_exit,key:tid,filter:ret >= 0,owner:both"},
                // The first bytes decide: GET, POST, PUT, HEAD, DELE(TE), PATC(H), OPTI(ONS). A
                // request that is
                // read in parts begins once; one that comes before the answer to another is not
                // told apart.
                {"http",
                 "a request of HTTP/1 to a server: from its first bytes read to the answer's first "
                 "write",
                 "plain HTTP over sockets",
                 "begin:syscalls:sys_exit_read | syscalls:sys_exit_recvfrom,"
                 "end:syscalls:sys_enter_write | syscalls:sys_enter_writev | "
                 "syscalls:sys_enter_sendto"
                 " | syscalls:sys_enter_sendmsg | syscalls:sys_enter_sendfile64,"
                 "key:" SOCKET_OF_ARGUMENT ","
                 "filter:ret > 15 && " ARGUMENT_IS_SOCKET
                 " && (" TEXT_IS("0x20544547") " || " TEXT_IS("0x54534f50") " || " TEXT_IS("0x20545"
                                                                                           "550") " || " TEXT_IS("0x44414548") " || " TEXT_IS(
                     "0x454c4544") " || " TEXT_IS("0x43544150") " || " TEXT_IS("0x4954504f") "),"
                                                                                             "end-"
                                                                                             "filte"
                                                                                             "r"
                                                                                             ":" ARGUMENT_IS_SOCKET
                                                                                             ","
                                                                                             "drop:"
                                                                                             "sock:"
                                                                                             "inet_"
                                                                                             "sock_"
                                                                                             "set_"
                                                                                             "state"
                                                                                             ",drop"
                                                                                             "-filt"
                                                                                             "er:"
                                                                                             "newst"
                                                                                             "ate "
                                                                                             "== "
                                                                                             "TCP_"
                                                                                             "CLOSE"
                                                                                             ",drop"
                                                                                             "-key:"
                                                                                             "sk,"
                                                                                             "repea"
                                                                                             "t:"
                                                                                             "first"
                                                                                             ",owne"
                                                                                             "r:"
                                                                                             "bot"
                                                                                             "h"},
                // The connection is established in an interrupt. Its socket is the one behind the
                // descriptor that
                // accept() returns. A connection that ends before was never accepted.
                {"accept-queue",
                 "a TCP connection's wait in the listen queue: from established to accept()", "",
                 "begin:sock:inet_sock_set_state,"
                 "filter:oldstate == TCP_SYN_RECV && newstate == TCP_ESTABLISHED,key:sk,"
                 "end:syscalls:sys_exit_accept4 | syscalls:sys_exit_accept,end-filter:ret >= 0,"
                 "end-key:as_socket(as_file(" FILE_OF(
                     "ret") ")->private_data)->sk,"
                            "drop:sock:inet_sock_set_state,drop-filter:newstate == "
                            "TCP_CLOSE,drop-key:sk,owner:end"},
                {"gc", "a pause for garbage collection in Java: from its begin to its end",
                 "a JVM with USDT probes",
                 "begin:usdt:@libjvm.so:hotspot:gc__begin,end:usdt:@libjvm.so:hotspot:gc__end,key:"
                 "tid"},
                {"safepoint",
                 "a stop of all Java threads: from the request to the threads' release",
                 "a JVM with USDT probes",
                 "begin:usdt:@libjvm.so:hs_private:safepoint__begin"
                 " | usdt:@libjvm.so:hotspot:safepoint__begin,"
                 "end:usdt:@libjvm.so:hs_private:safepoint__end | "
                 "usdt:@libjvm.so:hotspot:safepoint__end,"
                 "key:tid"},
                {"python-gc", "a garbage collection in Python: from its start to its end",
                 "CPython with USDT probes",
                 "begin:usdt:@python3*:python:gc__start | usdt:@libpython3*:python:gc__start,"
                 "end:usdt:@python3*:python:gc__done | usdt:@libpython3*:python:gc__done,"
                 "key:tid"},
};

}  // namespace

std::span<const ReadySpan> ready_spans() {
  return table;
}

const ReadySpan* find_ready_span(std::string_view name) {
  const auto found = std::ranges::find(table, name, &ReadySpan::name);
  return found == std::end(table) ? nullptr : found;
}

PairSpec pair_of(const ReadySpan& ready) {
  PairSpec pair = parse_pair(fmt::format("{}={}", ready.name, ready.definition));
  pair.is_ready_made = true;
  return pair;
}

}  // namespace overdue
