#include "fixture.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/text.h"

namespace overdue::fixture {
namespace {

constexpr std::string_view hostile_comm = "ev\n\x1b[31m\xff\",il";

/// Wire layout of a fixture's call record.
struct call_event {
  struct event_header header;
  u64 latency_ns;
  s64 ret;
  u32 nr;
  u32 returned;
  char name[16];
  char arguments[64];  // formatted arguments, separated by newlines; none contains a newline
};
WIRE_SIZE(struct call_event, 48 + 24 + 16 + 64);

void visit_call_event(const Record& record, const Names&, FieldVisitor& visitor) {
  const auto call = record.as<call_event>();
  visitor.text("name", fixed_text(call.name));
  visitor.number("id", call.nr, Unit::syscall);
  visitor.list("args", split(fixed_text(call.arguments), '\n'));
  if (call.returned == 0) return;
  visitor.result("ret", call.ret,
                 call.ret == -2     ? "ENOENT"
                 : call.ret == -516 ? "ERESTART_RESTARTBLOCK"
                                    : "");
  visitor.number("latency_ns", call.latency_ns, Unit::nanoseconds);
}

constexpr Field call_fields[] = {
    OVERDUE_FIELD(call_event, latency_ns, nanoseconds, duration, "from entry to return"),
    OVERDUE_FIELD(call_event, ret, result, value, "what it returned"),
    OVERDUE_FIELD(call_event, nr, syscall, key, "system call number"),
    OVERDUE_FIELD(call_event, arguments, opaque, value, "its arguments"),
};
constexpr Schema call_schema{.id = 1,
                             .name = "call",
                             .size = sizeof(call_event),
                             .fields = call_fields,
                             .help = "one system call",
                             .visit = visit_call_event};

struct wait_event {
  struct event_header header;
  u64 wait_ns;
  u32 peer_pid;
  s32 result;
  char device[16];
};
WIRE_SIZE(struct wait_event, 48 + 32);

constexpr Field wait_fields[] = {
    OVERDUE_FIELD(wait_event, wait_ns, nanoseconds, duration, "how long it waited"),
    OVERDUE_FIELD(wait_event, peer_pid, pid, key, "who it waited for"),
    OVERDUE_FIELD(wait_event, result, result, value, "how the wait ended"),
    OVERDUE_FIELD(wait_event, device, text, key, "what it waited at"),
};
constexpr Schema wait_schema{
    .id = 2, .name = "wait", .size = sizeof(wait_event), .fields = wait_fields, .help = "one wait"};

template <std::size_t N>
void set_text(char (&to)[N], std::string_view from) {
  std::memcpy(to, from.data(), std::min(N, from.size()));
}

event_header header(u16 kind, u16 size, u64 after_ns, std::string_view comm) {
  event_header made{};
  made.time_ns = session().start.time_since_epoch().count() + after_ns;
  made.pid = 4711;
  made.tid = 4712;
  made.cpu = 1;
  made.kind = kind;
  made.size = size;
  set_text(made.comm, comm);
  return made;
}

template <typename T>
StoredRecord stored(const Schema& schema, const T& event) {
  const auto bytes = std::as_bytes(std::span(&event, 1));
  return {schema, {bytes.begin(), bytes.end()}};
}

StoredRecord call(u64 after_ns, u32 nr, std::string_view name, std::string_view arguments, s64 ret,
                  u64 latency_ns, std::string_view comm = "git") {
  call_event event{};
  event.header = header(1, sizeof event, after_ns, comm);
  event.nr = nr;
  event.ret = ret;
  event.returned = 1;
  event.latency_ns = latency_ns;
  set_text(event.name, name);
  set_text(event.arguments, arguments);
  return stored(call_schema, event);
}

LatencyRow row(std::string name, std::uint32_t id,
               std::initializer_list<std::uint64_t> latencies_ns, std::uint64_t times = 1) {
  LatencyRow made;
  made.name = std::move(name);
  made.id = id;
  for (const std::uint64_t latency_ns : latencies_ns) made.latency.add(latency_ns, times);
  return made;
}

}  // namespace

SessionInfo session() {
  SessionInfo info;
  info.version = "0.1.0";
  info.command = "syscalls";
  info.host = "testbox";
  info.kernel = "6.18.0-test";
  info.arch = "x86_64";
  info.cpus = 2;
  info.start_wall = WallTime(std::chrono::seconds(1'795'248'930) + std::chrono::microseconds(250));
  info.start = KernelTime(Duration(1'000'000'000'000));
  info.duration = Duration(2'500'000'000);
  info.target.kind = "command";
  info.target.values = {"git", "-C", "/tmp/a b", "status", "\x1b]0;pwned\a"};
  info.target.pids = {4711};
  info.backend = "tp_btf";
  info.notes = {"attached 2 of 712 tracepoints", "a note with\na newline"};
  return info;
}

Receipt receipt() {
  Receipt made;
  made.events = 1'239'023;
  made.unmatched = 1;
  made.cut = 2;
  made.probe_runs = 2'478'046;
  made.probe_ns = 117'707'185;
  made.probe_error_ns = 2'354'144;
  made.probe_target_ns = 110'000'000;
  made.own = {.cpu_ns = 81'200'000, .memory_bytes = 31'457'280, .bpf_bytes = 35'651'584};
  made.target_cpu_ns = 2'000'000'000;
  return made;
}

Receipt lossy_receipt() {
  Receipt made = receipt();
  made.refused = 3;
  made.lost_by = {{"map full", 12}, {"ring full", 1'022}};
  made.target_cpu_ns.reset();
  made.frames = {.user = 1'234, .user_unresolved = 5, .kernel = 99, .kernel_unresolved = 0};
  return made;
}

LatencyTable table() {
  LatencyTable made;
  made.title = "syscalls";
  made.wall = Duration(2'500'000'000);
  made.rows = {row("futex", 202, {1'250, 3'400'000, 900'000'000}, 2),
               row("read", 0, {310, 420, 530}, 413'000),
               row("openat", 257, {2'100, 9'800, 12'300}, 40),
               row("exit_group", 231, {}),
               row("i386:open", 5, {18'446'744'073'709}),
               row("syscall_999", 999, {95})};
  made.rows[0].errors = 3;
  made.rows[0].errnos = {{"EAGAIN", 2}, {"EINTR", 1}};
  made.rows[2].errors = 61;
  made.rows[2].errnos = {{"ENOENT", 57}, {"EACCES", 2}, {"ENOTDIR", 1}, {"ELOOP", 1}};
  made.rows[3].unreturned = 1;
  made.unfinished = {{"read", 4713, "worker", 12'000'000},
                     {"futex", 4712, std::string(hostile_comm), 1'310'000'000}};
  return made;
}

LatencyTable grouped_table() {
  LatencyTable made;
  made.title = "syscalls";
  made.by = {.process = true, .thread = true, .container = true, .library = true, .caller = true};
  made.wall = Duration(2'500'000'000);
  made.show_histograms = true;
  made.rows = {row("epoll_wait", 232, {5'000, 80'000, 1'000'000, 250'000'000}, 300),
               row("write", 1, {700, 720, 745, 1'100}, 250), row("nanosleep", 35, {})};
  made.rows[0].process = ProcessKey{100, "redis-server"};
  made.rows[0].thread = ThreadKey{101, "io_thd_1"};
  made.rows[0].container = "redis-1";
  made.rows[0].library = "libevent-2.1.so.7";
  made.rows[0].caller = "event_base_loop";
  made.rows[0].unreturned = 2;
  made.rows[1].process = ProcessKey{200, std::string(hostile_comm)};
  made.rows[1].thread = ThreadKey{200, std::string(hostile_comm)};
  made.rows[1].container = "caf\xe9, the \"first\"";
  made.rows[1].library = "lib\x1b[31m.so";
  made.rows[1].caller = "std::filebuf::write(char const*, long)";
  made.rows[1].late = true;
  made.rows[1].untimed = 7;
  made.rows[1].refused = 1;
  made.rows[1].errors = 1;
  made.rows[1].errnos = {{"EPIPE", 1}};
  made.rows[2].process = ProcessKey{0, "(other)"};
  made.rows[2].thread = ThreadKey{0, "(other)"};
  made.rows[2].container = "";
  made.rows[2].library = "[unknown]";
  made.rows[2].caller = "[unknown]";
  made.rows[2].late = true;
  made.rows[2].untimed = 3;
  return made;
}

LatencyTable interval(int number) {
  LatencyTable made;
  made.title = "syscalls";
  made.wall = Duration(1'000'000'000);
  if (number == 2) return made;  // an idle second
  made.rows = {row("read", 0, {310, 420}, 1'000), row("write", 1, {1'500}, 12)};
  return made;
}

std::vector<StoredRecord> calls() {
  std::vector<StoredRecord> made;
  made.push_back(call(1'000, 59, "execve", "pathname=\"/usr/bin/git\"", 0, 412'345));
  made.push_back(call(500'000'123, 257, "openat",
                      "dirfd=AT_FDCWD\npathname=\"/a,b\x1b[2J\xff\"\nflags=O_RDONLY", 3, 12'345,
                      hostile_comm));
  made.push_back(
      call(600'000'000, 257, "openat", "dirfd=AT_FDCWD\npathname=\"C:\\\\no\\n\"", -2, 2'100));
  made.push_back(call(999'750'000, 9, "mmap", "addr=0\nlength=4096", 0x7f12'3456'7000, 830));
  made.push_back(call(1'200'000'000, 35, "nanosleep", "duration=10s", -516, 1'000'000'000));
  made.push_back(call(1'200'000'001, 39, "getppid", "", 4'700, 95));
  call_event last{};
  last.header = header(1, sizeof last, 2'499'999'999, "git");
  last.nr = 231;
  set_text(last.name, "exit_group");
  set_text(last.arguments, "status=0");
  made.push_back(stored(call_schema, last));
  return made;
}

std::vector<StoredRecord> plain_records() {
  wait_event event{};
  event.header = header(2, sizeof event, 5'000, "worker");
  event.wait_ns = 1'234'567;
  event.peer_pid = 99;
  event.result = -110;
  set_text(event.device, "vd\ta");
  wait_event in_cgroup = event;
  in_cgroup.header.cgroup_id = 77;
  in_cgroup.result = 0;
  return {stored(wait_schema, event), stored(wait_schema, in_cgroup)};
}

std::vector<const Schema*> schemas() {
  return {&call_schema, &wait_schema};
}

}  // namespace overdue::fixture
