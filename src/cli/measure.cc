#include "cli/measure.h"

#include <poll.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/control_socket.h"
#include "cli/controls.h"
#include "cli/membership_rules.h"
#include "cli/own_use.h"
#include "cli/program_end.h"
#include "cli/progress.h"
#include "cli/report_envelope.h"
#include "cli/say.h"
#include "cli/stop_signals.h"
#include "kernel/capabilities.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "kernel/libbpf_log.h"
#include "kernel/syscall_table.h"
#include "probes/syscalls/names.h"
#include "target/cgroups.h"
#include "target/identity.h"
#include "target/own_rights.h"

namespace overdue {
namespace {

constexpr int stopped_by_a_threshold = 3;
constexpr std::chrono::milliseconds tick{500};
constexpr std::chrono::seconds collect_at_least_every{30};  // far below what fills a 32-bit bucket

}  // namespace

/// One measurement from start to end; its member functions are the steps, in order.
class Measurement {
 public:
  Measurement(const MeasureRequest& request, const Kernel& kernel, Instruments& instruments,
              MeasureListener& listener)
      : request_(request),
        kernel_(kernel),
        instruments_(instruments),
        listener_(listener),
        progress_(!request.quiet) {}
  ~Measurement();
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  int run();

 private:
  void start_program();
  void attach();
  void attach_or_explain();
  void describe();
  void arm();
  void watch_for_the_end();
  void listen_for_requests();
  void loop();
  bool target_has_ended();
  void on_signal(const StopSignals::Arrived& signal);
  void drain();
  void keep_up();
  void next_interval(KernelTime now);
  void refresh_names();
  void say_what_is_attached();
  Receipt& count_up();
  void finish();
  Duration until_next_event(KernelTime now) const;

  const MeasureRequest& request_;
  const Kernel& kernel_;
  Instruments& instruments_;
  MeasureListener& listener_;
  StopSignals signals_;
  Progress progress_;
  ResolvedTarget target_;
  std::unique_ptr<SpawnedProgram> program_;
  std::unique_ptr<Session> session_;
  std::optional<CgroupHierarchy> hierarchy_;
  SessionInfo info_;
  std::unique_ptr<Controls> controls_;
  std::unique_ptr<ControlSocket> socket_;
  std::vector<Fd> ends_;
  std::optional<KernelTime> deadline_;
  KernelTime next_interval_{}, interval_start_{}, next_tick_{}, last_collect_{};
  bool stop_ = false;
  bool has_released_program_ = false;
  std::uint64_t events_ = 0;
  std::optional<Receipt> receipt_;  ///< once all is counted
  std::size_t attachments_said_ = 0;

  RecordHandler handler() {
    return [this](const Record& record) {
      events_ += instruments_.events_in(record);
      listener_.record(record);
    };
  }
};

Measurement::~Measurement() {
  listener_.while_waiting({});               // it may wait again, without us
  if (session_) instruments_.end_threads();  // after a failure
}

void Measurement::start_program() {
  if (request_.selection.kind != TargetKind::command) return;
  program_ = std::make_unique<SpawnedProgram>(
      request_.selection.argv,
      SpawnOptions{.user = request_.selection.user, .inherited = request_.inherited});
}

void Measurement::attach() {
  MembershipRules rules;
  if (!request_.own_threads) rules = rules_for(request_.selection, target_, program_.get());
  if (request_.by_container || rules.cgroup_hierarchy >= 0) {
    const Cgroups cgroups;
    if (const CgroupHierarchy* hierarchy = container_hierarchy(cgroups, rules.cgroup_hierarchy)) {
      hierarchy_ = *hierarchy;
      rules.cgroup_hierarchy = hierarchy->id;
    }
  }
  session_ = std::make_unique<Session>(rules, instruments_.ring_bytes());
  instruments_.add_to(*session_, kernel_, request_.selection.cpus);
}

/// Asking what the kernel allows takes longer than attaching: only a refusal, or --without, is
/// worth it.
void Measurement::attach_or_explain() {
  const auto support = [&] { return instruments_.support(kernel_); };
  if (kernel_.pretends()) require_support(instruments_.purpose(), support());
  try {
    attach();
  } catch (const Error& refusal) {
    const Support answer = support();
    if (answer.yes) throw;
    throw Error("cannot {}: {}", instruments_.purpose(), answer.missing)
        .hint(answer.remedy)
        .log(refusal.log());
  }
}

/// All but when it began. Asking the kernel for its calls takes a while, in which nothing is to be
/// measured yet: nobody would read it, and our own threads would not run.
void Measurement::describe() {
  const Host host = read_host();
  info_.version = OVERDUE_VERSION;
  info_.command = request_.command;
  info_.host = host.name;
  info_.kernel = host.kernel;
  info_.arch = host.arch;
  info_.cpus = host.online_cpus;
  info_.target = target_.info;
  info_.thresholds = request_.thresholds;
  info_.spans = request_.spans;
  info_.only = request_.only;
  if (program_) info_.target.pids = {program_->pid()};
  info_.backend = instruments_.backend();
  info_.notes = target_.notes;
  for (const auto& [nr, symbol] : kernel_syscall_symbols(first_unnamed_syscall()))
    if (std::string name = name_from_kernel_symbol(symbol); !name.empty())
      info_.names.syscalls[{ABI_NATIVE, nr}] = std::move(name);
  refresh_names();
}

void Measurement::arm() {
  session_->arm();
  say_what_is_attached();
  const ClockPair clocks = read_clocks();
  info_.start = session_->start();
  info_.start_wall = clocks.wall - std::chrono::nanoseconds(clocks.monotonic - info_.start);
}

void Measurement::refresh_names() {
  if (!hierarchy_) return;
  for (auto& [id, path] : cgroup_paths(*hierarchy_)) info_.names.cgroups[id] = path;
}

void Measurement::watch_for_the_end() {
  if (program_) return;
  std::vector<std::uint32_t> pids = target_.info.pids;
  if (request_.selection.kind != TargetKind::pid) return;
  for (const std::uint32_t pid : pids)
    if (auto end = watch_process(pid)) ends_.push_back(std::move(*end));
  if (ends_.empty()) stop_ = true;  // all gone already
}

/// `overdue ctl`. Who may open it is who may have started us: a user that cannot be told is root.
void Measurement::listen_for_requests() {
  std::optional<uid_t> owner;
  try {
    if (const auto user = choose_identity(IdentityRequest::current(std::nullopt)))
      owner = user->uid;
  } catch (const Error&) {
    owner.reset();
  }
  controls_ = std::make_unique<Controls>(*session_, instruments_, info_);
  socket_ = std::make_unique<ControlSocket>(
      owner, [this](std::string_view request) { return controls_->answer(request); });
  if (request_.verbose && !socket_->refusal().empty())
    say("overdue: no `overdue ctl`: {}\n", socket_->refusal());
}

bool Measurement::target_has_ended() {
  if (program_) return program_->try_wait().has_value();
  if (request_.selection.kind == TargetKind::tid)
    return std::none_of(target_.tids.begin(), target_.tids.end(), [](std::uint32_t tid) {
      return kill(static_cast<pid_t>(tid), 0) == 0 || errno == EPERM;
    });
  if (request_.selection.kind != TargetKind::pid) return false;
  return std::all_of(ends_.begin(), ends_.end(), [](const Fd& end) {
    pollfd poll_end{.fd = end.get(), .events = POLLIN, .revents = 0};
    return poll(&poll_end, 1, 0) == 1;
  });
}

void Measurement::on_signal(const StopSignals::Arrived& signal) {
  if (!program_) {
    stop_ = true;
    return;
  }
  if (!signal.from_terminal) program_->forward(signal.number);
  const KernelTime limit = KernelClock::now() + grace_after_signal;
  deadline_ = deadline_ ? std::min(*deadline_, limit) : limit;
}

Duration Measurement::until_next_event(KernelTime now) const {
  // At once, but through the loop: a target that is faster than we are must not keep us from its
  // end, or ours.
  if (session_->rings_are_filling()) return Duration(0);
  KernelTime next = std::min(now + instruments_.poll_every(), instruments_.due());
  if (deadline_) next = std::min(next, *deadline_);
  if (request_.interval) next = std::min(next, next_interval_);
  return next > now ? next - now : Duration(0);
}

void Measurement::drain() {
  session_->poll(handler());
  const KernelTime now = KernelClock::now();
  if (session_->cells_are_filling() || now - last_collect_ > collect_at_least_every) {
    session_->collect(handler());
    last_collect_ = KernelClock::now();
  }
}

/// While the listener waits for another process: no record is lost for that, a signal reaches the
/// program, and the measurement ends when it is to.
void Measurement::keep_up() {
  session_->set_aside();
  if (const auto signal = signals_.take()) on_signal(*signal);
  if (stop_ || (deadline_ && KernelClock::now() >= *deadline_) || target_has_ended())
    session_->end_early();
}

void Measurement::next_interval(KernelTime now) {
  if (!request_.interval || now < next_interval_) return;
  session_->collect(handler());
  last_collect_ = KernelClock::now();
  refresh_names();
  info_.duration = last_collect_ - session_->start();
  listener_.interval(info_, last_collect_ - interval_start_);
  interval_start_ = last_collect_;
  while (next_interval_ <= last_collect_) next_interval_ += *request_.interval;
}

void Measurement::loop() {
  while (!stop_) {
    const KernelTime now = KernelClock::now();
    if (deadline_ && now >= *deadline_) return;
    std::vector<pollfd> waits{{signals_.fd(), POLLIN, 0}};
    if (program_) waits.push_back({program_->pidfd(), POLLIN, 0});
    if (ends_.size() == 1) waits.push_back({ends_[0].get(), POLLIN, 0});
    socket_->add_to(waits);
    const auto wait_ms =
        std::chrono::ceil<std::chrono::milliseconds>(until_next_event(now)).count();
    poll(waits.data(), waits.size(), static_cast<int>(wait_ms));
    if (const auto signal = signals_.take()) on_signal(*signal);
    drain();
    listener_.polled();
    const KernelTime after = KernelClock::now();
    next_interval(after);
    instruments_.poll(after, handler());
    if (after >= next_tick_) {
      listener_.tick();
      next_tick_ = after + tick;
    }
    socket_->serve(after);
    if (controls_->wants_stop() || listener_.wants_stop() || target_has_ended()) return;
  }
}

void Measurement::say_what_is_attached() {
  const std::vector<std::string>& attached = LibbpfLog::attachments();
  for (; request_.verbose && attachments_said_ < attached.size(); ++attachments_said_)
    say("overdue: attached {}\n", attached[attachments_said_]);
}

void Measurement::finish() {
  say_what_is_attached();  // what was added on the way
  const KernelTime ended = instruments_.ending();
  session_->finish(handler());
  const KernelTime end = std::min(ended, session_->end());
  socket_.reset();
  if (std::string note = controls_->note(end); !note.empty())
    info_.notes.push_back(std::move(note));
  refresh_names();
  info_.duration = end - session_->start();
  if (request_.interval) listener_.interval(info_, end - interval_start_);
  Receipt& receipt = count_up();
  for (std::string& note : session_->left_out()) info_.notes.push_back(std::move(note));
  if (has_released_program_ && events_ == 0 && instruments_.sees_any_program() &&
      request_.selection.cpus.empty())
    info_.notes.emplace_back(
        "Overdue saw no event of the program that it started: its hooks do not run here, and the "
        "report says nothing of the program");
  for (std::string& note : instruments_.notes()) info_.notes.push_back(std::move(note));
  listener_.settle();
  receipt.own = own_use(program_.get());
  session_->detach();  // a reader may let the report wait for long
  listener_.end(info_, receipt);
}

Receipt& Measurement::count_up() {
  Receipt& receipt = receipt_.emplace(session_->receipt());
  events_ += instruments_.events();
  receipt.events += events_;
  if (instruments_.look_at_switches())
    receipt.events += session_->membership().cpu_use().departures;
  if (request_.own_threads) {
    receipt.target_cpu_ns.reset();  // no thread is a member
    receipt.probe_target_ns.reset();
  }
  return receipt;
}

int Measurement::run() {
  require_capabilities(request_.command, measuring_capabilities());
  if (!in_initial_pid_namespace())
    throw Error(
        "cannot measure from inside a PID namespace: the kernel knows processes by other ids")
        .hint("run it in the host's: docker run --pid=host, or nsenter -t 1 -p");
  target_ = resolve_target(request_.selection);
  start_program();
  progress_.step("attaching");
  attach_or_explain();
  describe();
  listen_for_requests();
  arm();
  listener_.while_waiting([this] { keep_up(); });
  listener_.begin(info_);
  const KernelTime start = session_->start();
  if (request_.duration) deadline_ = start + *request_.duration;
  interval_start_ = last_collect_ = next_tick_ = start;
  if (request_.interval) {
    next_interval_ = start + *request_.interval;
    listener_.interval(info_, Duration(0));
  }
  instruments_.armed(start);
  give_up_rights_to_attach(request_.starts_helpers ? Helpers::will_be_started : Helpers::none,
                           instruments_.attaches_later() ? Attaching::goes_on : Attaching::is_over);
  watch_for_the_end();
  const auto interrupted = signals_.take();
  if (program_ && !interrupted) {
    program_->release();
    has_released_program_ = true;
  }
  try {
    // A program's terminal, or a stream of findings, is not to be drawn over.
    progress_.step(program_ || request_.streams || interrupted ? "" : "measuring");
    if (!interrupted) loop();
    progress_.step("writing");
    finish();
  } catch (const Error&) {  // without a report there is still a receipt
    say_receipt(info_, receipt_ ? *receipt_ : count_up());
    throw;
  }
  progress_.step("");
  session_.reset();
  if (interrupted) return program_ ? 128 + interrupted->number : 0;  // it was never run
  if (program_) return wait_unmeasured(*program_, signals_, request_.quiet);
  return listener_.wants_stop() ? stopped_by_a_threshold : 0;
}

int measure(const MeasureRequest& request, const Kernel& kernel, Instruments& instruments,
            MeasureListener& listener) {
  return Measurement(request, kernel, instruments, listener).run();
}

}  // namespace overdue
