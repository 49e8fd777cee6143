#include "report/offcpu/trace.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "probes/sched/probe.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::uint64_t idle_thread = std::uint64_t{1} << 32;
constexpr std::uint64_t intervals_max = 1000;  // without an event; more are one long interval
constexpr std::size_t displacers_kept = 1000;  // of a thread, in an interval
constexpr std::size_t line_max = 64 << 10;     // longer lines are no events
constexpr std::size_t traced_threads_max = 1'000'000;  // of a hostile file

wait_state state_of(std::string_view state) {
  if (state.starts_with('R')) return WAIT_PREEMPTED;
  if (state.starts_with('S') || state.starts_with('I')) return WAIT_SLEEPING;
  return state.starts_with('D') ? WAIT_UNINTERRUPTIBLE : WAIT_OTHER;
}

template <std::size_t N>
void set_text(char (&to)[N], std::string_view text) {
  std::ranges::fill(to, '\0');
  std::ranges::copy(text.substr(0, N - 1), to);
}

}  // namespace

SwitchAccount::Thread& SwitchAccount::thread_of(std::uint32_t tid, std::uint32_t cpu,
                                                const std::string& comm) {
  const std::uint64_t key = tid != 0 ? tid : idle_thread + cpu;
  const auto known = threads_.find(key);
  if (known == threads_.end() && threads_seen_ >= traced_threads_max)
    throw Error("more than {} threads in the trace", grouped(traced_threads_max));
  Thread& thread = known != threads_.end() ? known->second : threads_[key];
  offcpu_thread& record = thread.record;
  if (known == threads_.end()) {
    record.header.pid = record.header.tid = tid;
    record.header.kind = RECORD_OFFCPU_THREAD;
    record.header.size = sizeof record;
    record.since_ns = now_ns_;
    record.number = ++threads_seen_;
    set_text(record.header.comm, "<...>");
  }
  if (tid == 0)
    set_text(record.header.comm, fmt::format("swapper/{}", cpu));
  else if (!comm.empty())
    set_text(record.header.comm, comm);
  return thread;
}

SwitchAccount::Parts SwitchAccount::parts_of(const Thread& thread) const {
  const std::uint64_t wait_ns = now_ns_ - thread.out_ns;
  if (thread.state == WAIT_PREEMPTED) return {.ready_ns = wait_ns};
  if (thread.wake_ns < thread.out_ns) return {.blocked_ns = wait_ns};
  return {.blocked_ns = thread.wake_ns - thread.out_ns, .ready_ns = now_ns_ - thread.wake_ns};
}

void SwitchAccount::add_parts(offcpu_thread& record, const Thread& thread,
                              const Parts& parts) const {
  offcpu_sums& sums = record.sums;
  if (thread.state == WAIT_PREEMPTED)
    sums.preempted_ns += parts.ready_ns;
  else
    sums.runqueue_ns += parts.ready_ns;
  if (thread.state == WAIT_UNINTERRUPTIBLE)
    sums.uninterruptible_ns += parts.blocked_ns;
  else
    sums.sleeping_ns += parts.blocked_ns;
  record.reason_ns[REASON_OTHER] += parts.blocked_ns;
}

void SwitchAccount::leave(Thread& thread, const SwitchEvent& event) {
  if (thread.in_ns != 0) thread.record.sums.oncpu_ns += now_ns_ - thread.in_ns;
  if (thread.out_ns != 0) ++unmatched_;  // its switch in is missing: the wait's length is not known
  thread.in_ns = 0;
  thread.out_ns = now_ns_;
  thread.state = state_of(event.prev_state);
  thread.displacer_tid = event.tid;
  thread.displacer = event.comm;
  const bool has_ended = event.prev_state.starts_with('X') || event.prev_state.starts_with('Z');
  if (has_ended && event.prev_tid != 0) end(thread, event);
}

/// The thread leaves its CPU for ever: another thread may get its tid.
void SwitchAccount::end(Thread& thread, const SwitchEvent& event) {
  thread.out_ns = 0;
  thread.record.header.time_ns = now_ns_;
  thread.record.flags = OFFCPU_ENDED;
  ended_.push_back(std::move(thread));
  threads_.erase(event.prev_tid);
}

void SwitchAccount::note_displacer(Thread& thread, std::uint64_t wait_ns) {
  ++thread.record.preemptions;
  std::pair who{thread.displacer_tid, thread.displacer};
  if (thread.displacers.size() >= displacers_kept && !thread.displacers.contains(who))
    who = {0, "(other)"};
  offcpu_displacer& displacer = thread.displacers[who];
  displacer.header = thread.record.header;
  displacer.header.kind = RECORD_OFFCPU_DISPLACER;
  displacer.header.size = sizeof displacer;
  displacer.number = thread.record.number;
  displacer.displacer_tid = who.first;
  set_text(displacer.displacer, who.second);
  ++displacer.count;
  displacer.total_ns += wait_ns;
  displacer.max_ns = std::max<u64>(displacer.max_ns, wait_ns);
}

void SwitchAccount::arrive(Thread& thread) {
  if (thread.out_ns != 0) {
    const Parts parts = parts_of(thread);
    const std::uint64_t wait_ns = now_ns_ - thread.out_ns;
    add_parts(thread.record, thread, parts);
    ++thread.record.waits;
    thread.record.longest_ns = std::max<u64>(thread.record.longest_ns, wait_ns);
    if (thread.state == WAIT_PREEMPTED && thread.displacer_tid != 0)
      note_displacer(thread, wait_ns);
  }
  thread.out_ns = 0;
  thread.in_ns = now_ns_;
}

/// Switches are missing: no wait may be taken for longer than it was.
void SwitchAccount::forget_waits() {
  for (auto& [key, thread] : threads_) {
    if (thread.out_ns != 0) ++cut_;
    thread.out_ns = thread.in_ns = 0;
  }
}

void SwitchAccount::add(const SwitchEvent& event) {
  if (event.kind == SwitchEvent::Kind::lost) {
    lost_ += event.count;
    return forget_waits();
  }
  if (start_ns_ == 0) start_ns_ = event.time_ns;
  now_ns_ = std::max(now_ns_, event.time_ns);  // lines of two CPUs may have changed places
  if (event.kind == SwitchEvent::Kind::woken) {
    Thread& thread = thread_of(event.tid, event.cpu, event.comm);
    if (thread.wake_ns < thread.out_ns || thread.wake_ns == 0) thread.wake_ns = now_ns_;
    return;
  }
  ++switches_;
  leave(thread_of(event.prev_tid, event.cpu, event.prev_comm), event);
  arrive(thread_of(event.tid, event.cpu, event.comm));
}

void SwitchAccount::report(const RecordHandler& handler) {
  for (Thread& thread : ended_) report(thread, thread.record, handler);
  ended_.clear();
  for (auto& [key, thread] : threads_) {
    offcpu_thread record = thread.record;
    record.header.time_ns = now_ns_;
    if (thread.in_ns != 0) record.sums.oncpu_ns += now_ns_ - thread.in_ns;
    if (thread.out_ns != 0) {
      add_parts(record, thread, parts_of(thread));
      record.open_ns = now_ns_ - thread.out_ns;
      record.open_state = thread.state;
    }
    report(thread, record, handler);
  }
}

void SwitchAccount::report(Thread& thread, const offcpu_thread& record,
                           const RecordHandler& handler) const {
  handler(Record{&offcpu_thread_schema, std::as_bytes(std::span(&record, 1))});
  thread.record.longest_ns = 0;
  for (auto& [who, displacer] : thread.displacers) {
    displacer.header.time_ns = now_ns_;
    handler(Record{&offcpu_displacer_schema, std::as_bytes(std::span(&displacer, 1))});
  }
  thread.displacers.clear();
}

namespace {

/// The lines of a file, without those that are too long.
class Lines {
 public:
  explicit Lines(const Fd& file) : file_(file) {}
  /// The next line; false at the end of the file.
  bool next(std::string& line) {
    line.clear();
    bool is_too_long = false;
    while (at_ < end_ || fill()) {
      const char* begin = buffer_.data() + at_;
      const auto* newline = static_cast<const char*>(std::memchr(begin, '\n', end_ - at_));
      const std::size_t length = newline ? static_cast<std::size_t>(newline - begin) : end_ - at_;
      if (line.size() + length <= line_max)
        line.append(begin, length);
      else
        is_too_long = true;
      at_ += length + (newline ? 1 : 0);
      if (!newline) continue;
      if (is_too_long) line.clear();
      return true;
    }
    return !line.empty();
  }

 private:
  bool fill() {
    ssize_t length = 0;
    do length = read(file_.get(), buffer_.data(), buffer_.size());
    while (length < 0 && errno == EINTR);
    check_errno(static_cast<int>(std::min<ssize_t>(length, 0)), "cannot read the trace");
    at_ = 0;
    end_ = static_cast<std::size_t>(length);
    return length > 0;
  }

  const Fd& file_;
  std::array<char, 64 << 10> buffer_{};
  std::size_t at_ = 0, end_ = 0;
};

SessionInfo info_of(const SwitchReplay& replay, std::uint64_t start_ns) {
  SessionInfo info;
  info.version = OVERDUE_VERSION;
  info.command = "offcpu";
  info.target.kind = "trace";
  info.target.values = {replay.name};
  info.backend = "trace";
  info.start = KernelTime(Duration(start_ns));
  info.start_wall = WallTime(std::chrono::nanoseconds(start_ns));
  info.notes.emplace_back("times are those of the trace's clock, as if since 1970");
  return info;
}

/// Hands the events of a trace to a listener.
class SwitchReader {
 public:
  SwitchReader(const SwitchReplay& replay, MeasureListener& listener)
      : replay_(replay), listener_(listener) {}

  void line(std::string_view text);
  void end();

 private:
  bool is_wanted(const SwitchEvent& event) const {
    return event.kind != SwitchEvent::Kind::switched || replay_.cpus.empty() ||
           std::ranges::find(replay_.cpus, event.cpu) != replay_.cpus.end();
  }
  /// Ends the intervals that end before `time_ns`.
  void end_intervals(std::uint64_t time_ns);
  void report() {
    account_.report([this](const Record& record) { listener_.record(record); });
  }

  const SwitchReplay& replay_;
  MeasureListener& listener_;
  SwitchAccount account_;
  std::optional<SessionInfo> info_;
  Duration shown_{};  ///< end of the last interval, from the start
  std::uint64_t unread_ = 0;
};

void SwitchReader::line(std::string_view text) {
  const auto event = parse_switch_line(text);
  if (!event) {
    if (text.find("sched_switch:") != text.npos) ++unread_;
    return;
  }
  if (!is_wanted(*event)) return;
  end_intervals(event->time_ns);
  account_.add(*event);
  if (!info_ && account_.switches() > 0)
    listener_.begin(info_.emplace(info_of(replay_, account_.start_ns())));
  if (info_) info_->duration = Duration(account_.now_ns() - account_.start_ns());
}

void SwitchReader::end_intervals(std::uint64_t time_ns) {
  if (!info_ || !replay_.interval) return;
  const std::uint64_t begin_ns = account_.start_ns() + shown_.count();
  if (time_ns <= begin_ns) return;
  std::uint64_t ended = (time_ns - begin_ns - 1) / replay_.interval->count();
  const Duration length = ended > intervals_max ? ended * *replay_.interval : *replay_.interval;
  for (ended = ended > intervals_max ? 1 : ended; ended > 0; --ended) {
    info_->duration = shown_ + length;
    account_.advance(account_.start_ns() + info_->duration.count());
    report();
    listener_.interval(*info_, length);
    shown_ = info_->duration;
  }
}

void SwitchReader::end() {
  if (!info_)
    throw Error("no context switch in {}", printable(replay_.name))
        .hint("record the event sched_switch: trace-cmd record -e sched, perf sched record");
  if (unread_ > 0)
    info_->notes.push_back(
        fmt::format("lines of sched_switch that cannot be read: {}", grouped(unread_)));
  report();
  if (replay_.interval) listener_.interval(*info_, info_->duration - shown_);
  Receipt receipt;
  receipt.events = account_.switches();
  receipt.cut = account_.cut();
  receipt.unmatched = account_.unmatched();
  if (account_.lost() > 0) receipt.lost_by["ring_full"] = account_.lost();
  listener_.settle();
  listener_.end(*info_, receipt);
}

}  // namespace

void replay_switches(const Fd& text, const SwitchReplay& replay, MeasureListener& listener) {
  SwitchReader reader(replay, listener);
  Lines lines(text);
  for (std::string line; lines.next(line);) reader.line(line);
  reader.end();
}

}  // namespace overdue
