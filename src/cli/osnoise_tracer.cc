#include "cli/osnoise_tracer.h"

#include <fcntl.h>
#include <poll.h>
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
#include "cli/osnoise_tracer_options.h"
#include "cli/osnoise_tracer_threads.h"
#include "cli/own_use.h"
#include "cli/progress.h"
#include "cli/report_envelope.h"
#include "cli/say.h"
#include "cli/starvation_watch.h"
#include "cli/stop_signals.h"
#include "kernel/capabilities.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "target/cpu_list.h"
#include "target/own_rights.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr int stopped_by_a_limit = 3;
constexpr std::chrono::milliseconds pipe_every{50}, mark_every{500};
constexpr std::chrono::seconds starved_after{10}, longest_rest{2};
constexpr const char* keeper = "/run/overdue/osnoise";
/// Of both tracers, for what a killed run of the other has left. The period of osnoise is never
/// less than its runtime: one of the two times it can be put back.
constexpr std::array<std::string_view, 10> all_settings{
    "cpus",       "options",   "timerlat_period_us", "print_stack",           "period_us",
    "runtime_us", "period_us", "stop_tracing_us",    "stop_tracing_total_us", "../tracing_thresh"};

/// Settings are the machine's: whoever uses the tracer now would get ours.
void refuse_if_in_use(const fs::path& tracefs) {
  for (const auto& [path, tracer] : tracers_in_use(tracefs))
    if (tracer == "timerlat" || tracer == "osnoise")
      throw Error("somebody else uses the kernel's {} tracer: see {}", tracer,
                  printable(path.string()))
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
  Run(OsnoiseTracerKind& kind_of, OsnoiseTracerRequest asked)
      : kind(kind_of), request(std::move(asked)) {}

  void check();
  void configure();
  void prepare();
  void match_clocks();
  void record();
  void describe();
  void loop(StopSignals& signals);
  void finish();
  void mark();
  bool drain();
  void drain_rest();
  Fd open_pipe() const;
  bool has_stopped() const;
  void next_interval(KernelTime now, bool last);
  TracerAssembler& assembler() { return kind.assembler(); }

  OsnoiseTracerKind& kind;
  const OsnoiseTracerRequest request;
  MeasureListener* listener = nullptr;
  const Kernel* kernel = nullptr;
  fs::path tracefs;
  std::unique_ptr<TracingSettings> settings;  // before the instance: put back after it is gone
  std::unique_ptr<TracingInstance> instance;
  Fd marker, pipe, recording;
  std::unique_ptr<StarvationWatch> watch;
  SessionInfo info;
  std::uint64_t events = 0, unread = 0, marks = 0, marked_ns = 0;
  bool mark_seen = false, starved = false;
  KernelTime next_interval_at{}, interval_start{};
};

void OsnoiseTracer::Run::check() {
  constexpr std::array needed{Capability::sys_admin};
  require_capabilities(request.tracer, needed);
  if (!in_initial_pid_namespace())
    throw Error("cannot use the kernel's tracers from inside a PID namespace")
        .hint("run it in the host's: nsenter -t 1 -p");
  require_support(fmt::format("use the kernel's {} tracer", request.tracer),
                  kernel->tracer(request.tracer));
  const auto path = kernel->tracefs_path();
  if (!path)
    throw Error("no tracefs is mounted").hint("mount -t tracefs tracefs /sys/kernel/tracing");
  tracefs = *path;
  kind.check(tracefs);
}

void OsnoiseTracer::Run::configure() {
  sweep_tracing_instances(tracefs);
  std::vector<std::string_view> names{"cpus", "options"};
  names.insert(names.end(), kind.settings().begin(), kind.settings().end());
  settings = std::make_unique<TracingSettings>(tracefs / "osnoise", keeper, names, all_settings);
  if (settings->found_left_over())
    info.notes.emplace_back("settings of osnoise/ that a killed run had left were put back first");
  refuse_if_in_use(tracefs);
  // First: what was set is put back if we are killed.
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
  pipe.reset();  // the kernel changes no tracer while somebody reads
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

/// The trace's clock is the tracer's own; where it stands, a line of ours tells.
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
  info.start = KernelClock::now();
  assembler().set_begin(info.start.time_since_epoch().count());
  instance->write("tracing_on", "1");
}

void OsnoiseTracer::Run::describe() {
  const Host host = read_host();
  const ClockPair clocks = read_clocks();
  info.version = OVERDUE_VERSION;
  info.command = request.tracer;
  info.host = host.name;
  info.kernel = host.kernel;
  info.arch = host.arch;
  info.cpus = host.online_cpus;
  info.start_wall = clocks.wall - std::chrono::nanoseconds(clocks.monotonic - info.start);
  info.target.kind = "all";
  info.target.cpus = request.cpus_text;
  info.backend = "kernel";
}

void OsnoiseTracer::Run::mark() {
  const std::string text = fmt::format("{}{}", mark_text, ++marks);
  const auto now = [] { return KernelClock::now().time_since_epoch().count(); };
  const std::uint64_t before_ns = now();
  if (::write(marker.get(), text.data(), text.size()) < 0) errno = 0;  // the next one may do
  marked_ns = before_ns + (now() - before_ns) / 2;
}

/// Takes what has come; true where there may be more: the kernel needs a while to make text of what
/// it has, which is not to keep us from all else.
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

/// The tracer is over a limit: it has switched recording off.
bool OsnoiseTracer::Run::has_stopped() const {
  char value = '1';
  return ::pread(recording.get(), &value, 1, 0) == 1 && value == '0';
}

/// Where the machine is slower with the text than with the events, the rest is lost.
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

void OsnoiseTracer::Run::next_interval(KernelTime now, bool last) {
  if (!request.interval || (now < next_interval_at && !last)) return;
  info.duration = now - info.start;
  listener->interval(info, now - interval_start);
  interval_start = now;
  while (next_interval_at <= now) next_interval_at += *request.interval;
}

void OsnoiseTracer::Run::loop(StopSignals& signals) {
  std::optional<KernelTime> end;
  if (request.duration) end = info.start + *request.duration;
  KernelTime next_tick = info.start;
  interval_start = info.start;
  if (request.interval) {
    next_interval_at = info.start + *request.interval;
    listener->interval(info, Duration(0));
  }
  bool more = false;
  while (!signals.take()) {
    const KernelTime now = KernelClock::now();
    if (end && now >= *end) return;
    Duration wait = more ? Duration(0) : Duration(pipe_every);
    if (end) wait = std::min<Duration>(wait, *end - now);
    if (request.interval && next_interval_at > now)
      wait = std::min<Duration>(wait, next_interval_at - now);
    pollfd waits{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    poll(&waits, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count()));
    more = drain();
    kind.check_threads();
    if (!more && !assembler().stopped() && has_stopped()) {
      while (drain()) continue;
      kind.find_what_stopped_it();
      // One that had begun before we recorded, or is lost, explains nothing: on to the next.
      if (!assembler().stopped()) instance->try_write("tracing_on", "1");
    }
    const KernelTime after = KernelClock::now();
    next_interval(after, false);
    if (after >= next_tick) {
      mark();
      listener->tick();
      next_tick = after + mark_every;
    }
    if (listener->wants_stop() || assembler().stopped() || watch->starved()) return;
  }
}

void OsnoiseTracer::Run::finish() {
  const KernelTime end = KernelClock::now();
  assembler().set_end(end.time_since_epoch().count());
  instance->write("tracing_on", "0");
  kind.end_threads();
  starved = watch->starved();
  watch.reset();
  drain_rest();
  assembler().finish();
  pipe.reset();
  marker.reset();
  recording.reset();
  instance.reset();
  settings.reset();
  info.duration = end - info.start;
  next_interval(end, true);
}

OsnoiseTracer::OsnoiseTracer(OsnoiseTracerKind& kind, OsnoiseTracerRequest request)
    : run_(std::make_unique<Run>(kind, std::move(request))) {}

OsnoiseTracer::~OsnoiseTracer() = default;

void OsnoiseTracer::deliver(const Record& record, std::uint64_t events) {
  run_->events += events;
  run_->listener->record(record);
}

int OsnoiseTracer::run(const Kernel& kernel, MeasureListener& listener) {
  Run& run = *run_;
  run.kernel = &kernel;
  run.listener = &listener;
  run.check();
  Progress progress(!run.request.quiet);
  StopSignals signals;
  progress.step("preparing the kernel's tracer");
  run.configure();
  run.prepare();
  give_up_rights_to_attach(Helpers::none, Attaching::is_over);
  if (run.request.verbose)
    say("overdue: attached the kernel's {} tracer in {}\n", run.request.tracer,
        printable(run.instance->path().string()));
  run.describe();
  listener.begin(run.info);
  progress.step(run.request.streams ? "" : "measuring");
  run.loop(signals);
  progress.step("writing");
  run.finish();
  progress.step("");
  for (std::string& note : run.kind.notes()) run.info.notes.push_back(std::move(note));
  Receipt receipt;
  receipt.events = run.events;
  if (const std::uint64_t lost = run.assembler().lost() + run.unread; lost > 0)
    receipt.lost_by["tracer_buffer"] = lost;
  if (const std::uint64_t unread = run.assembler().unread(); unread > 0)
    receipt.lost_by["unread_lines"] = unread;
  receipt.unmatched = run.assembler().unmatched();
  receipt.cut = run.assembler().cut();
  receipt.own = own_use(nullptr);
  end_report(run.info, receipt, [&] { listener.end(run.info, receipt); });
  return run.assembler().stopped() ? stopped_by_a_limit : 0;
}

bool OsnoiseTracer::starved() const {
  return run_->starved || (run_->watch && run_->watch->starved());
}

}  // namespace overdue
