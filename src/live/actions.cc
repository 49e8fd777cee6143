#include "live/actions.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "kernel/features.h"
#include "sinks/finding_sections.h"
#include "sinks/ndjson.h"
#include "sinks/output.h"
#include "sinks/text_format.h"
#include "target/identity.h"

namespace overdue {
namespace {

// At the end of the session, the time of a running command to end by itself, then after a signal.
constexpr std::chrono::milliseconds own_end{1000}, grace{500};
constexpr std::string_view forms = "print, exec:COMMAND, signal:NAME, mark or stop";

int signal_of(std::string_view text) {
  std::string_view name = text;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size() && number > 0 && number < NSIG)
    return number;
  for (int one = 1; one < NSIG; ++one)
    if (const char* known = sigabbrev_np(one); known && name == known) return one;
  throw Error("--on signal: no signal '{}'", printable(text))
      .hint("signal:STOP, signal:USR1, …")
      .exit_status(2);
}

std::string line_of(const Finding& finding) {
  std::string line;
  Output output(line);
  NdjsonSink(output).section(std::make_shared<FindingSection>(finding));
  output.flush();
  return line;
}

/// A private file from which `text` can be read. Unlike a pipe, the file is never full.
Fd file_of(std::string_view text) {
  Fd file(check_errno(memfd_create("finding", MFD_CLOEXEC), "cannot keep the finding"));
  while (!text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    check_errno(static_cast<int>(std::min<ssize_t>(written, 0)), "cannot keep the finding");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

/// When process `pid` began, on the clock of findings; nothing if the process has ended.
std::optional<KernelTime> start_of(std::uint32_t pid) {
  const Fd file(open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 2048> buffer{};
  const ssize_t size = file ? read(file.get(), buffer.data(), buffer.size()) : -1;
  if (size <= 0) return std::nullopt;
  std::string_view text(buffer.data(), static_cast<std::size_t>(size));
  const std::size_t name_end = text.rfind(") ");
  if (name_end == text.npos) return std::nullopt;
  constexpr std::size_t start_time = 19;  // index after the name: field 22 of proc_pid_stat(5)
  const std::vector<std::string_view> fields = split(text.substr(name_end + 2), ' ');
  std::uint64_t ticks = 0;
  if (fields.size() <= start_time) return std::nullopt;
  const std::string_view field = fields[start_time];
  if (std::from_chars(field.data(), field.data() + field.size(), ticks).ec != std::errc())
    return std::nullopt;
  timespec boot{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  const Duration suspended = std::chrono::seconds(boot.tv_sec) +
                             std::chrono::nanoseconds(boot.tv_nsec) -
                             KernelClock::now().time_since_epoch();
  const auto hz = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return KernelTime(Duration(ticks * (1'000'000'000 / hz)) - suspended);
}

/// Whether the finding's thread is the target's, and not only the thread that was interrupted.
bool is_of_a_target(const Finding& finding) {
  constexpr std::array<std::string_view, 3> spans = {"syscall", "offcpu", "wakeup"};
  return std::find(spans.begin(), spans.end(), finding.span) != spans.end();
}

}  // namespace

bool may_be_another(KernelTime started, KernelTime finding) {
  return started + std::chrono::milliseconds(10) > finding;
}

ActionOptions parse_actions(const std::vector<std::string>& values) {
  ActionOptions options;
  for (const std::string& value : values) {
    if (value.starts_with("exec:") && value.size() > 5)
      options.command = value.substr(5);
    else if (value.starts_with("signal:"))
      options.signal = signal_of(std::string_view(value).substr(7));
    else if (value == "mark")
      options.mark = true;
    else if (value == "stop")
      options.stop = true;
    else if (value != "print")
      throw Error("--on {}: no such action", printable(value))
          .hint(std::string(forms))
          .exit_status(2);
  }
  return options;
}

Actions::Actions(ActionOptions options) : options_(std::move(options)) {
  if (!options_.command.empty())  // throws if the caller of sudo is unknown
    std::ignore = choose_identity(IdentityRequest::current(std::nullopt));
  if (!options_.mark) return;
  const auto tracefs = Kernel().tracefs_path();
  if (!tracefs) throw Error("--on mark: there is no tracefs").hint("overdue doctor");
  const std::string path = (*tracefs / "trace_marker").string();
  marker_ = Fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (!marker_) throw Error("--on mark: cannot open {}: {}", path, errno_text(errno));
}

Actions::~Actions() {
  if (!running_) return;
  const auto group = -static_cast<pid_t>(running_->pid());
  const auto wait = [&](std::chrono::milliseconds time) {
    for (int i = 0; i < 50 && !running_->try_wait(); ++i) std::this_thread::sleep_for(time / 50);
  };
  wait(own_end);
  kill(group, SIGTERM);
  wait(grace);
  kill(group, SIGKILL);  // the group lives as long as any process in it
  wait(grace);
}

bool Actions::may(Limit& limit) const {
  const KernelTime now = KernelClock::now();
  if (now < limit.next) {
    ++limit.left_out;
    return false;
  }
  limit.next = now + options_.every;
  return true;
}

void Actions::run_command(const Finding& finding) {
  tick();
  if (running_) {
    if (finding.thread.pid != running_->pid()) ++exec_.left_out;
    return;
  }
  if (!may(exec_)) return;
  try {
    const Fd input = file_of(line_of(finding));
    auto program = std::make_unique<SpawnedProgram>(
        std::vector<std::string>{"/bin/sh", "-c", options_.command},
        SpawnOptions{.inherited = options_.inherited, .helper_input = input.get()});
    program->release();
    running_ = std::move(program);
    ++exec_.done;
  } catch (const Error& error) {
    if (exec_.failed++ == 0) exec_.why_failed = error.what();
  }
}

/// Sends the signal through a pidfd, and only to the process of the finding: the process id may
/// have been reused.
void Actions::send_signal(int number, const Finding& finding) {
  const std::uint32_t pid = finding.thread.pid;
  if (!may(signal_)) return;
  const auto fails = [&](const char* why) {
    if (signal_.failed++ == 0) signal_.why_failed = why;
  };
  if (!is_of_a_target(finding) || pid <= 1 || pid == static_cast<std::uint32_t>(getpid()))
    return fails("no process of the target's");
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
  if (!process) return fails("the process has ended");
  const auto started = start_of(pid);
  if (!started) return fails("the process has ended");
  if (may_be_another(*started, finding.time)) return fails("the process may be another by now");
  if (syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0) != 0)
    return fails(errno == ESRCH ? "the process has ended" : std::strerror(errno));
  ++signal_.done;
}

void Actions::write_mark(const Finding& finding) {
  if (!may(mark_)) return;
  const std::string line =
      fmt::format("overdue: #{} {} {} {} {} {}[{}]\n", finding.number, finding.type, finding.span,
                  printable(finding.name).substr(0, 200), duration_text(finding.latency_ns),
                  printable(finding.thread.comm), finding.thread.tid);
  if (write(marker_.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    ++mark_.done;
    return;
  }
  if (mark_.failed++ == 0) mark_.why_failed = errno_text(errno);
}

void Actions::finding(const Finding& finding) {
  if (stop_) return;
  if (options_.mark) write_mark(finding);
  if (options_.signal) send_signal(*options_.signal, finding);
  if (!options_.command.empty()) run_command(finding);
  stop_ = options_.stop;
}

void Actions::tick() {
  if (!running_) return;
  const auto status = running_->try_wait();
  if (!status) return;
  if (*status != 0) ++commands_failed_;
  running_.reset();
}

std::vector<std::string> Actions::notes() const {
  std::vector<std::string> notes;
  const auto note = [&](std::string_view what, const Limit& limit) {
    std::string text = fmt::format("--on {}: {} times", what, grouped(limit.done));
    if (limit.left_out > 0)
      text += fmt::format("; findings left out by its limits: {}", grouped(limit.left_out));
    if (limit.failed > 0)
      text += fmt::format("; not possible for {} findings ({})", grouped(limit.failed),
                          limit.why_failed);
    notes.push_back(std::move(text));
  };
  if (!options_.command.empty()) note("exec", exec_);
  if (commands_failed_ > 0)
    notes.push_back(
        fmt::format("commands of --on exec that failed: {}", grouped(commands_failed_)));
  if (options_.signal) note("signal", signal_);
  if (options_.mark) note("mark", mark_);
  if (stop_) notes.emplace_back("--on stop: the session was ended by its first finding");
  return notes;
}

}  // namespace overdue
