#include "source/run_session.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/priority.h"
#include "base/start_memory.h"
#include "sinks/text_format.h"
#include "source/own_use.h"
#include "source/program_end.h"
#include "source/progress.h"
#include "source/say.h"
#include "source/stop_signals.h"

namespace overdue {
namespace {

constexpr int stopped_by_a_limit = 3;
constexpr std::chrono::milliseconds tick{500};

/// On standard error: the report cannot be written.
void say_receipt(const SessionInfo& info, const Receipt& receipt) {
  for (const std::string& line : receipt_lines(info, receipt)) say("overdue: {}\n", line);
}

/// One session; its member functions are the steps, in order.
class SessionRun {
 public:
  SessionRun(const RunRequest& request, Source& source, MeasureListener& listener)
      : request_(request), source_(source), listener_(listener), progress_(!request.quiet) {}
  ~SessionRun() { listener_.while_waiting({}); }  // the listener lives on
  SessionRun(const SessionRun&) = delete;
  SessionRun& operator=(const SessionRun&) = delete;

  int run();

 private:
  void begin();
  void loop();
  bool must_end();
  bool is_time_over() const { return deadline_ && KernelClock::now() >= *deadline_; }
  void on_signal(const StopSignals::Arrived& signal);
  void keep_up();
  int wait_ms(KernelTime now) const;
  void next_interval(KernelTime now);
  void finish();

  const RunRequest& request_;
  Source& source_;
  MeasureListener& listener_;
  StopSignals signals_;
  Progress progress_;
  std::unique_ptr<SpawnedProgram> program_;
  SessionInfo info_;
  std::optional<KernelTime> deadline_;
  KernelTime next_interval_{}, interval_start_{}, next_tick_{};
  bool stop_ = false;
  bool has_released_program_ = false;
  std::optional<RaisedPriority> priority_;  ///< while records come
  std::optional<Receipt> receipt_;          ///< set once all events are counted
  const RecordHandler handler_ = [this](const Record& record) { listener_.record(record); };
};

void SessionRun::on_signal(const StopSignals::Arrived& signal) {
  if (!program_) {
    stop_ = true;
    return;
  }
  if (!signal.from_terminal) program_->forward(signal.number);
  const KernelTime limit = KernelClock::now() + grace_after_signal;
  deadline_ = deadline_ ? std::min(*deadline_, limit) : limit;
}

bool SessionRun::must_end() {
  return (program_ && program_->try_wait()) || source_.is_over();
}

/// Called while the listener waits for another process: no record is lost, a signal reaches the
/// program, and the session ends in time.
void SessionRun::keep_up() {
  if (const auto signal = signals_.take()) on_signal(*signal);
  source_.keep_up(stop_ || is_time_over() || must_end());
}

void SessionRun::begin() {
  listener_.while_waiting([this] { keep_up(); });
  listener_.begin(info_);
  if (request_.duration) deadline_ = info_.start + *request_.duration;
  interval_start_ = next_tick_ = info_.start;
  if (request_.interval) {
    next_interval_ = info_.start + *request_.interval;
    listener_.interval(info_, Duration(0));
  }
  priority_.emplace();
  source_.begin();
}

int SessionRun::wait_ms(KernelTime now) const {
  KernelTime next = std::min(source_.due(now), next_tick_);
  if (deadline_) next = std::min(next, *deadline_);
  if (request_.interval) next = std::min(next, next_interval_);
  const Duration wait = next > now ? next - now : Duration(0);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count());
}

void SessionRun::next_interval(KernelTime now) {
  if (!request_.interval || now < next_interval_) return;
  source_.collect(info_, handler_);
  const KernelTime collected = KernelClock::now();
  info_.duration = collected - info_.start;
  if (listener_.wants_receipts()) {
    SessionInfo so_far = info_;  // its notes are of the end
    const Receipt receipt = source_.receipt(so_far, has_released_program_);
    listener_.so_far(so_far, receipt);
  }
  listener_.interval(info_, collected - interval_start_);
  interval_start_ = collected;
  while (next_interval_ <= collected) next_interval_ += *request_.interval;
}

void SessionRun::loop() {
  while (!stop_) {
    if (is_time_over()) return;
    std::vector<pollfd> waits{{signals_.fd(), POLLIN, 0}};
    if (program_) waits.push_back({program_->pidfd(), POLLIN, 0});
    source_.add_to(waits);
    listener_.add_to(waits);
    poll(waits.data(), waits.size(), wait_ms(KernelClock::now()));
    if (const auto signal = signals_.take()) on_signal(*signal);
    source_.poll(handler_);
    listener_.polled();
    const KernelTime after = KernelClock::now();
    next_interval(after);
    if (after >= next_tick_) {
      listener_.tick();
      next_tick_ = after + tick;
    }
    if (listener_.wants_stop() || listener_.has_quit() || must_end()) return;
  }
}

void SessionRun::finish() {
  const KernelTime end = source_.stop(info_, handler_);
  info_.duration = end - info_.start;
  if (request_.interval) listener_.interval(info_, end - interval_start_);
  Receipt& receipt = receipt_.emplace(source_.receipt(info_, has_released_program_));
  listener_.settle();
  receipt.own = own_use(program_.get());
  priority_.reset();
  source_.detach();  // a slow reader may block the report for long
  listener_.end(info_, receipt);
}

int SessionRun::run() {
  std::optional<StartMemory> memory(std::in_place);
  source_.check();
  if (!request_.program.empty())
    program_ = std::make_unique<SpawnedProgram>(request_.program, request_.spawn);
  progress_.step(std::string(source_.start_step()));
  info_ = source_.start(program_.get());
  memory.reset();
  begin();
  const auto interrupted = signals_.take();
  if (program_ && !interrupted) {
    program_->release();
    has_released_program_ = true;
  }
  try {
    // The progress line must not overwrite a program's terminal, or a stream of findings.
    progress_.step(program_ || request_.streams || interrupted ? "" : "measuring");
    if (!interrupted) loop();
    listener_.ending();
    progress_.step("writing");
    finish();
  } catch (const Error& error) {  // without a report there is still a receipt
    listener_.ending();
    if (!error.is_silent())
      say_receipt(info_, receipt_ ? *receipt_ : source_.receipt(info_, has_released_program_));
    throw;
  }
  progress_.step("");
  const bool over_limit = listener_.wants_stop() || source_.is_over_limit();
  source_.close();
  if (interrupted) return program_ ? 128 + interrupted->number : 0;  // the program never ran
  if (program_) return wait_unmeasured(*program_, signals_, request_.quiet);
  return over_limit ? stopped_by_a_limit : 0;
}

}  // namespace

int run_session(const RunRequest& request, Source& source, MeasureListener& listener) {
  return SessionRun(request, source, listener).run();
}

}  // namespace overdue
