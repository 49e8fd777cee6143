#include "source/measure.h"

#include <poll.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "kernel/capabilities.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "kernel/libbpf_log.h"
#include "kernel/syscall_table.h"
#include "source/control_socket.h"
#include "source/controls.h"
#include "source/membership_rules.h"
#include "source/run_session.h"
#include "source/say.h"
#include "source/session_start.h"
#include "source/source.h"
#include "syscalls/names.h"
#include "target/cgroups.h"
#include "target/identity.h"
#include "target/kernel_threads.h"
#include "target/own_rights.h"

namespace overdue {
namespace {

constexpr std::chrono::seconds collect_at_least_every{30};  // far below what fills a 32-bit bucket

/// BPF programs, attached for a target, with the probe set of a command.
class BpfSource final : public Source {
 public:
  BpfSource(const MeasureRequest& request, const Kernel& kernel, ProbeSet& probe_set,
            MeasureListener& listener)
      : request_(request), kernel_(kernel), probe_set_(probe_set), listener_(listener) {}
  ~BpfSource() override;
  BpfSource(const BpfSource&) = delete;
  BpfSource& operator=(const BpfSource&) = delete;

  void check() override;
  std::string_view start_step() const override { return "attaching"; }
  SessionInfo start(const SpawnedProgram* program) override;
  void begin() override;
  void add_to(std::vector<pollfd>& waits) const override;
  KernelTime due(KernelTime now) const override;
  void poll(const RecordHandler& handler) override;
  void collect(SessionInfo& info, const RecordHandler& handler) override;
  void keep_up(bool ends) override;
  bool is_over() override;
  bool is_over_limit() const override { return probe_set_.is_over(); }
  KernelTime stop(SessionInfo& info, const RecordHandler& handler) override;
  Receipt receipt(SessionInfo& info, bool has_run) override;
  void detach() override { session_->detach(); }
  void close() override { session_.reset(); }

 private:
  void attach();
  void attach_or_explain();
  SessionInfo describe();
  void watch_for_the_end();
  void listen_for_requests();
  bool target_has_ended() const;
  void refresh_names(SessionInfo& info) const;
  void say_what_is_attached();
  /// Counts the events of the records that `handler` gets.
  RecordHandler counting(const RecordHandler& handler);

  const MeasureRequest& request_;
  const Kernel& kernel_;
  ProbeSet& probe_set_;
  MeasureListener& listener_;
  ResolvedTarget target_;
  const SpawnedProgram* program_ = nullptr;
  std::unique_ptr<Session> session_;
  std::optional<CgroupHierarchy> hierarchy_;
  SessionInfo described_;  ///< the session at its start
  std::unique_ptr<Controls> controls_;
  std::unique_ptr<ControlSocket> socket_;
  std::vector<Fd> ends_;
  KernelTime last_collect_{};
  bool is_gone_ = false;  ///< the target ended before the watch began
  std::uint64_t events_ = 0;
  std::size_t attachments_said_ = 0;
};

BpfSource::~BpfSource() {
  if (session_) probe_set_.end_threads();  // after a failure
}

void BpfSource::check() {
  require_capabilities(request_.command, measuring_capabilities());
  if (!in_initial_pid_namespace())
    throw Error(
        "cannot measure from inside a PID namespace: the kernel knows processes by other ids")
        .hint("run it in the host's: docker run --pid=host, or nsenter -t 1 -p");
  target_ = resolve_target(request_.selection);
}

void BpfSource::attach() {
  MembershipRules rules;
  if (!request_.workload_threads) rules = rules_for(request_.selection, target_, program_);
  if (request_.by_container || rules.cgroup_hierarchy >= 0) {
    const Cgroups cgroups;
    if (const CgroupHierarchy* hierarchy = container_hierarchy(cgroups, rules.cgroup_hierarchy)) {
      hierarchy_ = *hierarchy;
      rules.cgroup_hierarchy = hierarchy->id;
    }
  }
  session_ = std::make_unique<Session>(rules, probe_set_.ring_bytes());
  probe_set_.add_to(*session_, kernel_, request_.selection.cpus);
}

/// Asking what the kernel allows takes longer than attaching: done only after a refusal, or with
/// --without.
void BpfSource::attach_or_explain() {
  const auto support = [&] { return probe_set_.support(kernel_); };
  if (kernel_.pretends()) require_support(probe_set_.purpose(), support());
  try {
    attach();
  } catch (const Error& refusal) {
    const Support answer = support();
    if (answer.yes) throw;
    throw Error("cannot {}: {}", probe_set_.purpose(), answer.missing)
        .hint(answer.remedy)
        .log(refusal.log());
  }
}

/// The session without its start. Asking the kernel for its calls takes a while. Nothing may be
/// measured meanwhile: records would stay unread, and workload threads do not run yet.
SessionInfo BpfSource::describe() {
  SessionInfo info = describe_session(request_.command);
  info.target = target_.info;
  info.thresholds = request_.thresholds;
  info.spans = request_.spans;
  info.only = request_.only;
  info.options = request_.options;
  if (program_) info.target.pids = {program_->pid()};
  info.backend = probe_set_.backend();
  info.notes = request_.notes;
  info.notes.insert(info.notes.end(), target_.notes.begin(), target_.notes.end());
  for (const auto& [nr, symbol] : kernel_syscall_symbols(first_unnamed_syscall()))
    if (std::string name = name_from_kernel_symbol(symbol); !name.empty())
      info.names.syscalls[{ABI_NATIVE, nr}] = std::move(name);
  refresh_names(info);
  return info;
}

SessionInfo BpfSource::start(const SpawnedProgram* program) {
  program_ = program;
  attach_or_explain();
  if (kernel_.python_frames().yes)
    listener_.take_python([this](const python_program& of, const python_runtime& runtime) {
      if (session_) session_->membership().add_python(of, runtime);
    });
  described_ = describe();
  listen_for_requests();
  session_->arm();
  say_what_is_attached();
  const ClockPair clocks = read_clocks();
  described_.start = last_collect_ = session_->start();
  described_.start_wall =
      clocks.wall - std::chrono::nanoseconds(clocks.monotonic - described_.start);
  return described_;
}

void BpfSource::begin() {
  probe_set_.armed(session_->start());
  drop_rights_to_attach(request_.starts_helpers ? Helpers::will_be_started : Helpers::none,
                        probe_set_.attaches_later() ? Attaching::goes_on : Attaching::is_over);
  watch_for_the_end();
  if (program_) session_->start_waits();
}

void BpfSource::refresh_names(SessionInfo& info) const {
  if (probe_set_.names_kernel_threads())
    for (auto& [tid, name] : kernel_thread_names()) info.names.threads[tid] = name;
  listener_.add_names(info.names);
  if (!hierarchy_) return;
  for (auto& [id, path] : cgroup_paths(*hierarchy_)) info.names.cgroups[id] = path;
}

void BpfSource::watch_for_the_end() {
  if (program_ || request_.selection.kind != TargetKind::pid) return;
  for (const std::uint32_t pid : target_.info.pids)
    if (auto end = watch_process(pid)) ends_.push_back(std::move(*end));
  is_gone_ = ends_.empty();
}

/// Serves `overdue ctl`, for the user who called sudo. If that user is unknown, only for root.
void BpfSource::listen_for_requests() {
  std::optional<uid_t> owner;
  try {
    if (const auto user = choose_identity(IdentityRequest::current(std::nullopt)))
      owner = user->uid;
  } catch (const Error&) {
    owner.reset();
  }
  controls_ = std::make_unique<Controls>(*session_, probe_set_, described_);
  socket_ = std::make_unique<ControlSocket>(
      owner, [this](std::string_view request) { return controls_->answer(request); });
  if (request_.verbose && !socket_->refusal().empty())
    say("overdue: no `overdue ctl`: {}\n", socket_->refusal());
}

bool BpfSource::target_has_ended() const {
  if (program_) return false;
  if (request_.selection.kind == TargetKind::tid)
    return std::none_of(target_.tids.begin(), target_.tids.end(), [](std::uint32_t tid) {
      return kill(static_cast<pid_t>(tid), 0) == 0 || errno == EPERM;
    });
  if (request_.selection.kind != TargetKind::pid) return false;
  return is_gone_ || std::all_of(ends_.begin(), ends_.end(), [](const Fd& end) {
           pollfd poll_end{.fd = end.get(), .events = POLLIN, .revents = 0};
           return ::poll(&poll_end, 1, 0) == 1;
         });
}

bool BpfSource::is_over() {
  return controls_->wants_stop() || probe_set_.is_over() || target_has_ended();
}

void BpfSource::add_to(std::vector<pollfd>& waits) const {
  if (ends_.size() == 1) waits.push_back({ends_[0].get(), POLLIN, 0});
  socket_->add_to(waits);
}

KernelTime BpfSource::due(KernelTime now) const {
  // At once, but through the loop: a target that is faster than Overdue must not hide its own end,
  // or the session's.
  if (session_->rings_are_filling()) return now;
  return std::min(now + probe_set_.poll_every(), probe_set_.due());
}

RecordHandler BpfSource::counting(const RecordHandler& handler) {
  return [this, &handler](const Record& record) {
    events_ += probe_set_.events_in(record);
    handler(record);
  };
}

void BpfSource::poll(const RecordHandler& handler) {
  const RecordHandler counted = counting(handler);
  session_->poll(counted);
  KernelTime now = KernelClock::now();
  if (now - last_collect_ > collect_at_least_every) {
    session_->collect(counted);
    last_collect_ = now = KernelClock::now();
  } else if (session_->cells_are_filling()) {
    session_->make_room(counted);
    now = KernelClock::now();
  }
  probe_set_.poll(now, counted);
  socket_->serve(now);
}

void BpfSource::collect(SessionInfo& info, const RecordHandler& handler) {
  session_->collect(counting(handler));
  last_collect_ = KernelClock::now();
  refresh_names(info);
}

void BpfSource::keep_up(bool ends) {
  session_->set_aside();
  if (ends) session_->end_early();
}

void BpfSource::say_what_is_attached() {
  const std::vector<std::string>& attached = LibbpfLog::attachments();
  for (; request_.verbose && attachments_said_ < attached.size(); ++attachments_said_)
    say("overdue: attached {}\n", attached[attachments_said_]);
}

KernelTime BpfSource::stop(SessionInfo& info, const RecordHandler& handler) {
  say_what_is_attached();  // later attachments
  const KernelTime ended = probe_set_.ending();
  session_->finish(counting(handler));
  probe_set_.finish(handler);
  const KernelTime end = std::min(ended, session_->end());
  socket_.reset();
  if (std::string note = controls_->note(end); !note.empty()) info.notes.push_back(std::move(note));
  refresh_names(info);
  return end;
}

Receipt BpfSource::receipt(SessionInfo& info, bool has_run) {
  Receipt receipt = session_->receipt();
  const std::uint64_t events = events_ + probe_set_.events();
  receipt.events += events;
  if (probe_set_.look_at_switches()) receipt.events += session_->membership().cpu_use().departures;
  if (request_.workload_threads) {
    receipt.target_cpu_ns.reset();  // no thread is a member
    receipt.probe_target_ns.reset();
  }
  for (std::string& note : session_->left_out()) info.notes.push_back(std::move(note));
  if (has_run && events == 0 && probe_set_.sees_any_program() && request_.selection.cpus.empty())
    info.notes.emplace_back(
        "Overdue saw no event of the program that it started: its hooks do not run here, and the "
        "report says nothing of the program");
  for (std::string& note : probe_set_.notes()) info.notes.push_back(std::move(note));
  return receipt;
}

}  // namespace

RunRequest run_request(const MeasureRequest& request) {
  RunRequest run;
  run.duration = request.duration;
  run.interval = request.interval;
  run.quiet = request.quiet;
  run.streams = request.streams;
  if (request.selection.kind == TargetKind::command) {
    run.program = request.selection.argv;
    run.spawn = {.user = request.selection.user, .inherited = request.inherited};
  }
  return run;
}

int measure(const MeasureRequest& request, const Kernel& kernel, ProbeSet& probe_set,
            MeasureListener& listener) {
  BpfSource source(request, kernel, probe_set, listener);
  return run_session(run_request(request), source, listener);
}

}  // namespace overdue
