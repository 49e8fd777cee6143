#include "source/osnoise_tracer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>

#include <fmt/format.h>

#include "analysis/timerlat_lines.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/read_text.h"
#include "base/text.h"
#include "kernel/capabilities.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "source/osnoise_tracer_options.h"
#include "source/osnoise_tracer_threads.h"
#include "source/say.h"
#include "source/session_start.h"
#include "source/starvation_watch.h"
#include "target/cpu_list.h"
#include "target/own_rights.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds pipe_every{50}, mark_every{500};
constexpr std::chrono::seconds starved_after{10}, longest_rest{2};
constexpr const char* keeper = "/run/overdue/osnoise";
/// The settings of both tracers: a killed run of the other tracer may have left some. The period of
/// osnoise cannot be less than its runtime, so it is restored before and after the runtime.
constexpr std::array<std::string_view, 10> all_settings{
    "cpus",       "options",   "timerlat_period_us", "print_stack",           "period_us",
    "runtime_us", "period_us", "stop_tracing_us",    "stop_tracing_total_us", "../tracing_thresh"};

/// The whole machine shares the settings: another user of the tracer would get Overdue's.
void refuse_if_in_use(const fs::path& tracefs) {
  for (const auto& [path, tracer] : tracers_in_use(tracefs))
    if (tracer == "timerlat" || tracer == "osnoise")
      throw Error("the kernel's {} tracer is in use: see {}", tracer, printable(path.string()))
          .hint("its settings are one set for the whole machine; or use --backend bpf");
}

}  // namespace

std::string in_whole_us(std::uint64_t ns) {
  return std::to_string((ns + 999) / 1000);
}

std::vector<std::pair<fs::path, std::string>> tracers_in_use(const fs::path& tracefs) {
  std::vector<fs::path> instances{tracefs};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(tracefs / "instances", error))
    instances.push_back(entry.path());
  std::vector<std::pair<fs::path, std::string>> found;
  for (const fs::path& instance : instances) {
    fs::path file = instance / "current_tracer";
    std::string tracer = read_word(file);
    if (!tracer.empty() && tracer != "nop") found.emplace_back(std::move(file), std::move(tracer));
  }
  return found;
}

/// One measurement; its member functions are the steps, in order.
struct OsnoiseTracer::Run {
  Run(OsnoiseTracerKind& kind_of, OsnoiseTracerRequest asked, const Kernel& running)
      : kind(kind_of), request(std::move(asked)), kernel(running) {}

  void check();
  void configure();
  void prepare();
  void match_clocks();
  void record();
  SessionInfo describe();
  void poll();
  KernelTime finish();
  void mark();
  bool drain();
  void drain_rest();
  Fd open_pipe() const;
  bool has_stopped() const;
  TracerAssembler& assembler() { return kind.assembler(); }

  OsnoiseTracerKind& kind;
  const OsnoiseTracerRequest request;
  const Kernel& kernel;
  const RecordHandler* handler = nullptr;  ///< of the running poll() or stop(); else null
  fs::path tracefs;
  std::unique_ptr<TracingSettings> settings;  // before the instance, to be restored after it
  std::unique_ptr<TracingInstance> instance;
  Fd marker, pipe, recording;
  std::unique_ptr<StarvationWatch> watch;
  KernelTime start{}, next_mark{};
  std::vector<std::string> notes;
  std::uint64_t events = 0, unread = 0, marks = 0, marked_ns = 0;
  bool mark_seen = false, starved = false, has_more = false;
};

void OsnoiseTracer::Run::check() {
  tracefs = require_kernel_tracer(kernel, request.tracer, request.tracer);
  kind.check(tracefs);
}

void OsnoiseTracer::Run::configure() {
  sweep_tracing_instances(tracefs);
  std::vector<std::string_view> names{"cpus", "options"};
  names.insert(names.end(), kind.settings().begin(), kind.settings().end());
  settings = std::make_unique<TracingSettings>(tracefs / "osnoise", keeper, names, all_settings);
  if (settings->found_left_over())
    notes.emplace_back("settings of osnoise/ that a killed run had left were put back first");
  refuse_if_in_use(tracefs);
  // The instance comes first: it restores the settings even if Overdue is killed.
  instance = std::make_unique<TracingInstance>(tracefs, settings.get());
  settings->set("cpus", format_cpu_list(request.cpus));
  kind.configure(*settings);
  set_tracer_options(*settings, request.options);
}

void OsnoiseTracer::Run::prepare() {
  kind.prepare(*instance);
  marker = Fd(open((instance->path() / "trace_marker").c_str(), O_WRONLY | O_CLOEXEC));
  recording = Fd(open((instance->path() / "tracing_on").c_str(), O_RDWR | O_CLOEXEC));
  match_clocks();
  pipe.reset();  // the kernel changes no tracer while the pipe is open
  watch = std::make_unique<StarvationWatch>(
      std::clamp(request.priority.value_or(0) + 1, priority_of_timerlat + 1, 99), starved_after,
      [this] {
        if (::write(recording.get(), "0", 1) < 0) errno = 0;
      });
  if (request.threads_first) instance->write("tracing_on", "0");
  if (!request.threads_first) record();
  instance->write("current_tracer", request.tracer);
  if (request.priority && request.kernel_threads)
    set_priority_of_tracer(request.tracer, request.cpus, *request.priority);
  kind.begin_threads(tracefs, *instance);
  pipe = open_pipe();
  if (request.threads_first) record();
}

Fd OsnoiseTracer::Run::open_pipe() const {
  const std::string path = instance->path() / "trace_pipe";
  return Fd(check_errno(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC), "cannot open {}",
                        printable(path)));
}

/// The trace has a clock of its own: the line of a mark, written at a known time, shows the offset.
void OsnoiseTracer::Run::match_clocks() {
  assembler().on_mark([this](std::uint64_t id, std::uint64_t time_ns) {
    if (id != marks) return;
    assembler().set_clock_offset(static_cast<std::int64_t>(marked_ns - time_ns));
    mark_seen = true;
  });
  pipe = open_pipe();
  for (int tries = 0; tries < 100 && !mark_seen; ++tries) {
    mark();
    drain();
    if (!mark_seen) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!mark_seen) throw Error("the kernel's trace does not show what is written to it");
}

void OsnoiseTracer::Run::record() {
  start = KernelClock::now();
  assembler().set_begin(start.time_since_epoch().count());
  instance->write("tracing_on", "1");
}

SessionInfo OsnoiseTracer::Run::describe() {
  const ClockPair clocks = read_clocks();
  SessionInfo info = describe_session(request.tracer);
  info.start = start;
  info.start_wall = clocks.wall - std::chrono::nanoseconds(clocks.monotonic - start);
  info.target.kind = "all";
  info.target.cpus = request.cpus_text;
  info.backend = "kernel";
  info.options = request.kept;
  info.notes = std::move(notes);
  return info;
}

void OsnoiseTracer::Run::mark() {
  const std::string text = fmt::format("{}{}", mark_text, ++marks);
  const std::uint64_t before_ns = KernelClock::now_ns();
  if (::write(marker.get(), text.data(), text.size()) < 0) errno = 0;  // the next mark may work
  marked_ns = before_ns + (KernelClock::now_ns() - before_ns) / 2;
}

/// Reads the lines that have come; true if there may be more. The kernel makes the text while it is
/// read, which is slow, so that one call is bounded in time.
bool OsnoiseTracer::Run::drain() {
  char bytes[16384];
  const KernelTime until = KernelClock::now() + pipe_every;
  while (KernelClock::now() < until) {
    const ssize_t size = ::read(pipe.get(), bytes, sizeof bytes);
    if (size <= 0) return false;
    assembler().feed({bytes, static_cast<std::size_t>(size)});
  }
  return true;
}

/// Whether a limit was passed: the tracer has then switched recording off.
bool OsnoiseTracer::Run::has_stopped() const {
  char value = '1';
  return ::pread(recording.get(), &value, 1, 0) == 1 && value == '0';
}

/// Reads the remaining lines. If the text takes too long, the rest is counted as lost.
void OsnoiseTracer::Run::drain_rest() {
  const KernelTime until = KernelClock::now() + longest_rest;
  while (drain())
    if (KernelClock::now() > until) {
      for (const std::uint32_t cpu : request.cpus) {
        const std::string stats =
            read_text(instance->path() / fmt::format("per_cpu/cpu{}/stats", cpu)).value_or("");
        std::uint64_t entries = 0;
        if (const std::size_t at = stats.find("entries: "); at != stats.npos)
          std::from_chars(stats.data() + at + 9, stats.data() + stats.size(), entries);
        unread += entries;
      }
      return;
    }
}

void OsnoiseTracer::Run::poll() {
  has_more = drain();
  kind.check_threads();
  if (!has_more && !assembler().stopped() && has_stopped()) {
    while (drain()) continue;
    kind.find_what_stopped_it();
    // An activation or noise that began before the recording, or is lost, explains nothing.
    if (!assembler().stopped()) instance->try_write("tracing_on", "1");
  }
  const KernelTime now = KernelClock::now();
  if (now < next_mark) return;
  mark();
  next_mark = now + mark_every;
}

KernelTime OsnoiseTracer::Run::finish() {
  const KernelTime end = KernelClock::now();
  assembler().set_end(end.time_since_epoch().count());
  instance->write("tracing_on", "0");
  kind.end_threads();
  starved = watch->starved();
  watch.reset();
  drain_rest();
  assembler().finish();
  kind.finish(*handler);
  pipe.reset();
  marker.reset();
  recording.reset();
  instance.reset();
  settings.reset();
  return end;
}

OsnoiseTracer::OsnoiseTracer(OsnoiseTracerKind& kind, OsnoiseTracerRequest request,
                             const Kernel& kernel)
    : run_(std::make_unique<Run>(kind, std::move(request), kernel)) {}

OsnoiseTracer::~OsnoiseTracer() = default;

void OsnoiseTracer::check() {
  run_->check();
}

SessionInfo OsnoiseTracer::start(const SpawnedProgram*) {
  run_->configure();
  run_->prepare();
  drop_rights_to_attach(Helpers::none, Attaching::is_over);
  if (run_->request.verbose)
    say("overdue: attached the kernel's {} tracer in {}\n", run_->request.tracer,
        printable(run_->instance->path().string()));
  return run_->describe();
}

KernelTime OsnoiseTracer::due(KernelTime now) const {
  return run_->has_more ? now : now + pipe_every;
}

void OsnoiseTracer::poll(const RecordHandler& handler) {
  run_->handler = &handler;
  run_->poll();
  run_->handler = nullptr;
}

bool OsnoiseTracer::is_over() {
  return is_over_limit() || run_->watch->starved();
}

bool OsnoiseTracer::is_over_limit() const {
  return run_->assembler().stopped();
}

void OsnoiseTracer::deliver(const Record& record, std::uint64_t events) {
  run_->events += events;
  if (run_->handler) (*run_->handler)(record);
}

KernelTime OsnoiseTracer::stop(SessionInfo& info, const RecordHandler& handler) {
  run_->handler = &handler;
  const KernelTime end = run_->finish();
  run_->handler = nullptr;
  for (std::string& note : run_->kind.notes()) info.notes.push_back(std::move(note));
  return end;
}

Receipt OsnoiseTracer::receipt(SessionInfo&, bool) {
  TracerAssembler& assembler = run_->assembler();
  Receipt receipt;
  receipt.events = run_->events;
  if (const std::uint64_t lost = assembler.lost() + run_->unread; lost > 0)
    receipt.lost_by["tracer_buffer"] = lost;
  if (const std::uint64_t unread = assembler.unread(); unread > 0)
    receipt.lost_by["unread_lines"] = unread;
  receipt.unmatched = assembler.unmatched();
  receipt.cut = assembler.cut();
  return receipt;
}

bool OsnoiseTracer::starved() const {
  return run_->starved || (run_->watch && run_->watch->starved());
}

}  // namespace overdue
