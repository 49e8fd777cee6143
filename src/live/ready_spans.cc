#include "live/ready_spans.h"

#include <algorithm>

#include <fmt/format.h>

namespace overdue {
namespace {

// A definition is as after `--span NAME=`. Alternatives that the target or the kernel does not have
// are left out.

// The stack pointer keeps apart the calls of a thread that is interrupted by another one.
constexpr std::string_view dns = R"(
    begin:uprobe:@libc.so.6:getaddrinfo | uprobe:@libc-2*.so:getaddrinfo
        | uprobe:@ld-musl-*.so.1:getaddrinfo,
    end:uretprobe:@libc.so.6:getaddrinfo | uretprobe:@libc-2*.so:getaddrinfo
        | uretprobe:@ld-musl-*.so.1:getaddrinfo,
    key:tid;sp, end-key:tid;sp - 8)";

// The file and the socket are those of the call's first argument. The text begins with three
// capital letters, as most other texts do not: GET, POST, PUT, HEAD, DELE(TE), PATC(H), OPTI(ONS).
// A request that is read in parts begins once. The last write before the next request, or before
// the connection closes, is the answer's end. "HTTP/1.1 101", in the buffer or in the first of
// several, begins another protocol: a WebSocket has no requests.
constexpr std::string_view http = R"(
    begin:syscalls:sys_exit_read | syscalls:sys_exit_recvfrom,
    end:syscalls:sys_exit_write | syscalls:sys_exit_writev | syscalls:sys_exit_sendto
        | syscalls:sys_exit_sendmsg | syscalls:sys_exit_sendfile64, end-repeat:last,
    key:as_socket(
        as_file(read_u64(current->files->fdt->fd + (user_regs->di << 3)))->private_data)->sk,
    filter:ret > 15 && (read_user_u32(user_regs->si) & 0xe0e0e0) == 0x404040
        && (as_file(read_u64(current->files->fdt->fd + (user_regs->di << 3)))->f_inode->i_mode
            & 0xf000) == 0xc000
        && (read_user_u32(user_regs->si) == 0x20544547 || read_user_u32(user_regs->si) == 0x54534f50
            || read_user_u32(user_regs->si) == 0x20545550
            || read_user_u32(user_regs->si) == 0x44414548
            || read_user_u32(user_regs->si) == 0x454c4544
            || read_user_u32(user_regs->si) == 0x43544150
            || read_user_u32(user_regs->si) == 0x4954504f),
    end-filter:ret > 0
        && (as_file(read_u64(current->files->fdt->fd + (user_regs->di << 3)))->f_inode->i_mode
            & 0xf000) == 0xc000,
    drop:sock:inet_sock_set_state, drop-key:sk, drop-filter:newstate == TCP_CLOSE
        || newstate == TCP_FIN_WAIT1 || newstate == TCP_LAST_ACK,
    drop:syscalls:sys_enter_write | syscalls:sys_enter_writev | syscalls:sys_enter_sendto,
    drop-filter:(known(read_user_u32(user_regs->si + 8)) == 0x31303120
            || known(read_user_u32(known(read_user_u64(user_regs->si)) + 8)) == 0x31303120)
        && (known(read_user_u32(user_regs->si)) == 0x50545448
            || known(read_user_u32(known(read_user_u64(user_regs->si)))) == 0x50545448)
        && (as_file(read_u64(current->files->fdt->fd + (user_regs->di << 3)))->f_inode->i_mode
            & 0xf000) == 0xc000,
    drop-key:as_socket(
        as_file(read_u64(current->files->fdt->fd + (user_regs->di << 3)))->private_data)->sk,
    repeat:first, owner:both)";

// Simple and prepared statements alike, also after an error. A parallel worker ends by exiting.
constexpr std::string_view postgres_query = R"(
    begin:usdt:@postgres:postgresql:statement__status, filter:arg0 != 0,
    end:usdt:@postgres:postgresql:statement__status, end-filter:arg0 == 0,
    key:tid, repeat:first, drop:sched:sched_process_exit)";

constexpr std::string_view postgres_txn = R"(
    begin:usdt:@postgres:postgresql:transaction__start,
    end:usdt:@postgres:postgresql:transaction__commit
        | usdt:@postgres:postgresql:transaction__abort,
    key:tid, drop:sched:sched_process_exit)";

// Commands of scripts and transactions are calls within a call. Debian calls the server's file
// redis-check-rdb.
constexpr std::string_view redis_command = R"(
    begin:uprobe:@redis-*:call | uprobe:@valkey-*:call,
    end:uretprobe:@redis-*:call | uretprobe:@valkey-*:call,
    key:tid;sp, end-key:tid;sp - 8)";

// COM_QUERY, COM_STMT_PREPARE, COM_STMT_EXECUTE, COM_STMT_FETCH and COM_STMT_BULK_EXECUTE: the
// first argument of dispatch_command() in MariaDB (since 10.5, and before), the third in MySQL,
// whose first one is an address.
constexpr std::string_view mysql_query = R"(
    begin:uprobe:@mariadbd*:_Z16dispatch_command19enum_server_commandP3THDPcjb
        | uprobe:@mysqld*:_Z16dispatch_command19enum_server_commandP3THDPcjb
        | uprobe:@mysqld*:_Z16dispatch_command19enum_server_commandP3THDPcjbb
        | uprobe:@mysqld*:_Z16dispatch_commandP3THDPK8COM_DATA19enum_server_command,
    filter:u32(arg0) == 3 || u32(arg0) == 22 || u32(arg0) == 23 || u32(arg0) == 28
        || u32(arg0) == 250 || u32(arg2) == 3 || u32(arg2) == 22 || u32(arg2) == 23
        || u32(arg2) == 28,
    end:uretprobe:@mariadbd*:_Z16dispatch_command19enum_server_commandP3THDPcjb
        | uretprobe:@mysqld*:_Z16dispatch_command19enum_server_commandP3THDPcjb
        | uretprobe:@mysqld*:_Z16dispatch_command19enum_server_commandP3THDPcjbb
        | uretprobe:@mysqld*:_Z16dispatch_commandP3THDPK8COM_DATA19enum_server_command,
    key:tid;sp, end-key:tid;sp - 8)";

constexpr std::string_view epoll_tick = R"(
    begin:syscalls:sys_exit_epoll_wait | syscalls:sys_exit_epoll_pwait
        | syscalls:sys_exit_epoll_pwait2, filter:ret >= 0,
    end:syscalls:sys_enter_epoll_wait | syscalls:sys_enter_epoll_pwait
        | syscalls:sys_enter_epoll_pwait2,
    key:tid, drop:sched:sched_process_exit, owner:both)";

constexpr std::string_view poll_tick = R"(
    begin:syscalls:sys_exit_poll | syscalls:sys_exit_ppoll | syscalls:sys_exit_select
        | syscalls:sys_exit_pselect6, filter:ret >= 0,
    end:syscalls:sys_enter_poll | syscalls:sys_enter_ppoll | syscalls:sys_enter_select
        | syscalls:sys_enter_pselect6,
    key:tid, drop:sched:sched_process_exit, owner:both)";

// A connection is established in an interrupt. Its socket is the one behind the descriptor that
// accept() returns. A connection that is closed before was never accepted.
constexpr std::string_view accept_queue = R"(
    begin:sock:inet_sock_set_state, key:sk,
    filter:oldstate == TCP_SYN_RECV && newstate == TCP_ESTABLISHED,
    end:syscalls:sys_exit_accept4 | syscalls:sys_exit_accept, end-filter:ret >= 0,
    end-key:as_socket(as_file(read_u64(current->files->fdt->fd + (ret << 3)))->private_data)->sk,
    drop:sock:inet_sock_set_state, drop-filter:newstate == TCP_CLOSE, drop-key:sk, owner:end)";

constexpr std::string_view gc = R"(
    begin:usdt:@libjvm.so:hotspot:gc__begin, end:usdt:@libjvm.so:hotspot:gc__end, key:tid)";

constexpr std::string_view safepoint = R"(
    begin:usdt:@libjvm.so:hs_private:safepoint__begin | usdt:@libjvm.so:hotspot:safepoint__begin,
    end:usdt:@libjvm.so:hs_private:safepoint__end | usdt:@libjvm.so:hotspot:safepoint__end,
    key:tid)";

constexpr std::string_view python_gc = R"(
    begin:usdt:@python3*:python:gc__start | usdt:@libpython3*:python:gc__start,
    end:usdt:@python3*:python:gc__done | usdt:@libpython3*:python:gc__done,
    key:tid)";

constexpr ReadySpan table[] = {
    {"http", "a request of HTTP/1 to a server: from its first bytes read to the end of the answer",
     "plain HTTP over sockets", http},
    {"postgres-query", "a statement: from its arrival until the server process is idle again",
     "PostgreSQL with USDT probes", postgres_query},
    {"postgres-txn", "a transaction: from its start to commit or abort",
     "PostgreSQL with USDT probes", postgres_txn},
    {"mysql-query",
     "a statement: from the call of dispatch_command() with it to the return, after the answer",
     "MariaDB or MySQL", mysql_query},
    {"redis-command", "a command carried out: from the call of call() to its return",
     "Redis or Valkey with names of functions", redis_command},
    {"dns", "a name looked up: from the call of getaddrinfo() to its return", "a C library", dns},
    {"accept-queue", "a TCP connection's wait in the listen queue: from established to accept()",
     "", accept_queue},
    {"epoll-tick",
     "a turn of an event loop: from the return of epoll_wait() to the thread's next call", "",
     epoll_tick},
    {"poll-tick",
     "a turn of an event loop: from the return of poll() or select() to the thread's next call", "",
     poll_tick},
    {"gc", "a pause for garbage collection in Java: from its begin to its end",
     "a JVM with USDT probes", gc},
    {"safepoint", "a stop of all Java threads: from the request to the threads' release",
     "a JVM with USDT probes", safepoint},
    {"python-gc", "a garbage collection in Python: from its start to its end",
     "CPython with USDT probes", python_gc},
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
