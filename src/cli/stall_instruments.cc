#include "cli/stall_instruments.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "core/span_schema.h"

namespace overdue {
namespace {

/// The shortest wait that is recorded is this part of the shortest threshold: what explains a stall
/// is then, but for a few percent, among the recorded, and short waits cost next to nothing.
constexpr std::uint64_t wait_part = 8;
constexpr Duration shortest_wait = std::chrono::microseconds(1);

constexpr int looks_per_timeout = 4;
constexpr Duration between_looks = std::chrono::milliseconds(100);

}  // namespace

bool waits_for_work(std::uint32_t nr) {
  constexpr std::array<std::uint32_t, 18> calls = {
      SYS_epoll_wait,    SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_poll,
      SYS_ppoll,         SYS_select,          SYS_pselect6,     SYS_accept,
      SYS_accept4,       SYS_wait4,           SYS_waitid,       SYS_pause,
      SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_io_getevents, SYS_io_pgetevents,
      SYS_msgrcv,        SYS_mq_timedreceive};
  return std::find(calls.begin(), calls.end(), nr) != calls.end();
}

Support StallInstruments::support(const Kernel& kernel) const {
  const Support sched = sched_probe.support(kernel);
  return sched.yes ? syscalls_probe.support(kernel) : sched;
}

std::size_t StallInstruments::ring_bytes() const {
  return options_.ring_bytes > 0 ? options_.ring_bytes : default_ring_bytes();
}

bool StallInstruments::wants(span_kind span) const {
  return std::find(options_.spans.begin(), options_.spans.end(), span) != options_.spans.end();
}

void StallInstruments::add_to(Session& session, const std::vector<std::uint32_t>& cpus) {
  Membership& membership = session.membership();
  auto sched = std::make_unique<SchedProbe>(membership.maps());
  sched_ = sched.get();
  if (wants(SPAN_SYSCALL)) {
    SyscallsOptions calls;
    calls.aggregate = false;
    calls.stalls = true;
    calls.hangs = options_.timeout.has_value();
    calls.user_stack_bytes = options_.user_stack_bytes;
    calls.only = options_.only;
    calls.cpus = cpus;
    auto probe = std::make_unique<SyscallsProbe>(calls, sched->maps());
    syscalls_ = probe.get();
    if (!options_.idle && !options_.only)
      for (std::uint32_t nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr)
        if (waits_for_work(nr)) syscalls_->set_threshold(nr, Duration(THRESHOLD_IDLE));
    session.add(std::move(sched));
    session.add(std::move(probe));
  } else {
    session.add(std::move(sched));
  }
  membership_ = &membership;
  store_thresholds();
}

/// Programs may run: each word is stored whole. Waits first, that a shorter threshold needs.
void StallInstruments::store_thresholds() {
  const auto store = [](u64& word, Duration value) {
    __atomic_store_n(&word, static_cast<u64>(value.count()), __ATOMIC_RELEASE);
  };
  session_control& control = membership_->control();
  store(control.wait_min_ns, std::max(options_.thresholds.least() / wait_part, shortest_wait));
  for (const span_kind span : options_.spans)
    if (const auto threshold = options_.thresholds.of(span))
      store(control.threshold_ns[span], *threshold);
  if (!syscalls_) return;
  for (const auto& [nr, threshold] : options_.thresholds.by_call)
    syscalls_->set_threshold(nr, threshold);
}

std::vector<std::pair<std::string, std::string>> StallInstruments::settings() const {
  std::vector<std::pair<std::string, std::string>> all{{"threshold", to_text(options_.thresholds)}};
  if (options_.timeout) all.emplace_back("timeout", format_duration(*options_.timeout));
  return all;
}

void StallInstruments::set(const std::vector<std::string_view>& words) {
  if (words[0] == "timeout") {
    if (!options_.timeout) throw Error("this session was begun without --timeout");
    if (words.size() != 2) throw Error("set timeout TIME");
    const Duration timeout = parse_duration(words[1], "timeout");
    if (timeout == Duration(0)) throw Error("a timeout of 0 would find every call open");
    options_.timeout = timeout;
    next_look_ = KernelTime{};
  } else {
    Thresholds changed = options_.thresholds;
    for (std::size_t i = words[0] == "threshold" ? 1 : 0; i < words.size(); ++i)
      change_thresholds(changed, words[i]);
    if (words[0] == "threshold" && words.size() < 2) throw Error("set threshold TIME");
    if (words[0] != "threshold")
      for (const std::string_view word : words)
        if (word.find('=') == word.npos)
          throw Error("nothing here is called '{}'", printable(word));
    for (const auto& [span, time] : changed.by_span)
      if (!wants(span)) throw Error("this session does not look at {}", span_name(span));
    options_.thresholds = std::move(changed);
    store_thresholds();
  }
  if (on_change) on_change(KernelClock::now());
}

void StallInstruments::armed(KernelTime start) {
  if (options_.timeout) next_look_ = start;
}

/// A look walks all threads of the machine: a few times per timeout is enough.
void StallInstruments::poll(KernelTime now, const RecordHandler& handler) {
  if (now < next_look_) return;
  syscalls_->look_for_hangs(*options_.timeout, handler);
  next_look_ = now + std::max(*options_.timeout / looks_per_timeout, between_looks);
}

Duration StallInstruments::poll_every() const {
  return std::chrono::milliseconds(20);
}

std::vector<std::string> StallInstruments::notes() const {
  std::vector<std::string> notes;
  if (!syscalls_) return notes;
  if (options_.timeout && !syscalls_->hangs_have_user_stacks())
    notes.push_back("this kernel cannot read the user stacks of calls that are still open");
  Counters counters = syscalls_->counters();
  if (const std::uint64_t calls = counters[COUNTER_IDLE])
    notes.push_back(
        fmt::format("calls over the threshold that wait for work (epoll_wait, accept, "
                    "wait4, …) are not shown: {}; --idle shows them",
                    calls));
  if (const std::uint64_t calls = counters[COUNTER_TEXT_UNREAD])
    notes.push_back(fmt::format(
        "calls with a string argument that could not be read and is shown as its address: {}",
        calls));
  return notes;
}

}  // namespace overdue
