#include "report/stalls/view.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "analysis/wait_purpose.h"
#include "analysis/waker_words.h"
#include "base/text.h"
#include "bpf/syscalls.h"
#include "core/chosen_schema.h"
#include "core/span_kinds.h"
#include "probes/syscalls/probe.h"
#include "report/stalls/flame.h"
#include "report/why/causes.h"
#include "sinks/finding_sections.h"
#include "sinks/text_format.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

class WithoutUserStacks final : public StackNamer {
 public:
  explicit WithoutUserStacks(StackNamer& namer) : namer_(namer) {}
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    return namer_.kernel_stack(addresses);
  }
  UserStack user_stack(std::uint32_t, const user_registers&, const UserCopy&, KernelTime) override {
    return {};
  }
  std::string thread_name(std::uint32_t pid, std::uint32_t tid) override {
    return namer_.thread_name(pid, tid);
  }

 private:
  StackNamer& namer_;
};

constexpr std::size_t causes_kept = 10'000;
constexpr std::size_t settings_kept = 1'000;
constexpr std::size_t hangs_kept = 10'000;
constexpr std::size_t last_calls_kept = 10'000;

bool is_native_call(const RawStall& stall) {
  if (stall.span.span != SPAN_SYSCALL) return false;
  return stall.is_way_back ||
         (stall.call && stall.call->at<u16>(offsetof(syscall_call, abi)) == ABI_NATIVE);
}

/// What is a part of another finding counts once.
BlameTable::Rules rules_of(const std::vector<span_kind>& spans) {
  const auto has = [&spans](span_kind kind) {
    return std::find(spans.begin(), spans.end(), kind) != spans.end();
  };
  return {.waits_in_calls = !has(SPAN_SYSCALL), .connects = !has(SPAN_TCP_CONNECT)};
}

}  // namespace

StallView::StallView(StallViewOptions options, StackNamer& namer, Sink& sink, FlameSink* drawing)
    : options_(std::move(options)),
      namer_(namer),
      sink_(sink),
      drawing_(drawing),
      blame_(rules_of(options_.spans)),
      assembler_([this](const RawStall& one) { stall(one); }) {
  settings_.push_back({KernelTime{}, options_.thresholds, options_.timeout});
  assembler_.ask_for_own_calls([this](const RawWaker& waker) {
    return ran_in_own_call(waker, namer_.kernel_stack(waker.stack));
  });
  assembler_.ask_for_ways_back([this](const RawWait& wait) {
    const std::uint32_t nr = wait.fixed.call - 1;
    const bool is_wanted =
        nr < SYSCALL_TABLE_SIZE && (!options_.only || (*options_.only)[ABI_NATIVE][nr]);
    return is_wanted && is_way_back(namer_.kernel_stack(wait.stack));
  });
}

void StallView::begin(const SessionInfo& info) {
  info_ = info;
  look_for_waits();
  sink_.begin(info);
}

/// A new percentile holds from its own time on: spans that ended before it may come later.
void StallView::record(const Record& record) {
  if (record.schema->id != chosen_threshold_schema.id) {
    assembler_.record(record);
    return;
  }
  chosen_.record(record.as<chosen_threshold>());
  look_for_waits();
}

/// A hang is kept until its call ends: the stall of this call then names the hang.
void StallView::note_hang(const RawStall& stall, Finding& finding) {
  const std::pair key(stall.span.header.tid, stall.begin_ns());
  if (stall.span.flags & SPAN_OPEN) {
    ++hung_;
    if (hangs_.size() < hangs_kept) hangs_[key] = finding.number;
    return;
  }
  const auto found = hangs_.find(key);
  if (found == hangs_.end()) return;
  finding.hang = found->second;
  hangs_.erase(found);
}

void StallView::leave_out(const RawStall& stall, const Finding& finding) {
  const std::pair key(stall.span.header.tid, stall.begin_ns());
  const bool is_known = hangs_.contains(key);
  left_out_.add(finding, is_known);
  if (options_.on_left_out) options_.on_left_out(finding);
  if (!(stall.span.flags & SPAN_OPEN))
    hangs_.erase(key);
  else if (hangs_.size() < hangs_kept)
    hangs_.try_emplace(key, 0);
}

void StallView::change(KernelTime at, Thresholds thresholds, std::optional<Duration> timeout) {
  if (settings_.size() >= settings_kept) settings_.erase(settings_.begin());
  options_.thresholds = thresholds;
  settings_.push_back({at, std::move(thresholds), timeout});
  look_for_waits();
}

const StallView::Settings& StallView::settings_at(std::uint64_t time_ns) const {
  const KernelTime time{Duration(time_ns)};
  for (auto one = settings_.rbegin(); one != settings_.rend(); ++one)
    if (one->from <= time) return *one;
  return settings_.front();
}

/// Waits are recorded for several reasons. Decides which waits are spans of their own.
void StallView::look_for_waits() {
  const auto threshold = [&](span_kind kind) -> std::uint64_t {
    if (std::find(options_.spans.begin(), options_.spans.end(), kind) == options_.spans.end())
      return 0;
    if (options_.thresholds.has_percentile(kind)) return chosen_.least_of(kind);
    const auto least = options_.thresholds.least_of(kind);
    return least ? least->count() : 0;
  };
  std::uint64_t call_ns = threshold(SPAN_SYSCALL);
  for (const auto& [nr, of_call] : options_.thresholds.by_call)
    call_ns = std::min(call_ns, static_cast<std::uint64_t>(of_call.count()));
  assembler_.look_for({.offcpu_ns = threshold(SPAN_OFFCPU),
                       .wakeup_ns = threshold(SPAN_WAKEUP),
                       .call_ns = call_ns,
                       .since_ns = static_cast<u64>(info_.start.time_since_epoch().count()),
                       .within_calls = options_.waits_within_calls,
                       .cpus = options_.cpus});
}

MeasuredKind StallView::kind_of(const RawStall& stall) {
  MeasuredKind kind{.span = known_span_kind(stall.span.span)};
  if (is_native_call(stall) && stall.span.subject < SYSCALL_TABLE_SIZE)
    kind.call = static_cast<std::uint32_t>(stall.span.subject);
  if (kind.span == SPAN_PAIR) kind.pair = fixed_text(stall.span.text);
  return kind;
}

std::uint64_t StallView::threshold_of(const RawStall& stall) const {
  const Settings& then = settings_at(stall.span.header.time_ns);
  if (stall.span.flags & SPAN_OPEN) return then.timeout ? then.timeout->count() : 0;
  const Thresholds& thresholds = then.thresholds;
  if (!thresholds.percentiles.empty())
    if (const MeasuredKind of = kind_of(stall); percentile_of(thresholds, of))
      return chosen_.at(of, stall.span.header.time_ns);
  const span_kind kind = known_span_kind(stall.span.span);
  if (is_native_call(stall)) {
    const auto found = thresholds.by_call.find(static_cast<std::uint32_t>(stall.span.subject));
    if (found != thresholds.by_call.end()) return found->second.count();
  }
  if (kind == SPAN_PAIR) {
    const auto found = thresholds.by_pair.find(std::string(fixed_text(stall.span.text)));
    if (found != thresholds.by_pair.end()) return found->second.count();
  }
  const event_header& header = stall.span.header;
  const bool by_another = kind == SPAN_PAIR && stall.span.begin_tid != header.tid;
  const auto threshold = thresholds.of_thread(
      kind, by_another && !stall.begin_comm.empty() ? stall.begin_comm : fixed_text(header.comm));
  return threshold ? threshold->count() : 0;
}

bool StallView::is_asked_for(const RawStall& stall) const {
  if (stall.span.span != SPAN_SYSCALL) return false;
  const Thresholds& thresholds = settings_at(stall.span.header.time_ns).thresholds;
  const auto nr = static_cast<std::uint32_t>(stall.span.subject);
  return options_.is_chosen ||
         (is_native_call(stall) &&
          (thresholds.by_call.contains(nr) || thresholds.percentiles.by_call.contains(nr)));
}

bool StallView::is_late(const RawStall& stall, const Finding& finding) const {
  if (options_.idle || finding.purpose.meant_ns == 0 || is_asked_for(stall)) return true;
  const std::uint64_t late_ns = finding.late_ns();
  return finding.threshold_ns > 0 ? late_ns >= finding.threshold_ns
                                  : late_ns > finding.latency_ns / 2;
}

bool StallView::wanted(const RawStall& stall, const Finding& finding) {
  const bool late = is_late(stall, finding);
  if (options_.on_examined && !(stall.span.flags & SPAN_OPEN) && !stall.is_way_back)
    options_.on_examined(kind_of(stall), finding.latency_ns, !late);
  if (!late) {
    leave_out(stall, finding);
    return false;
  }
  if (options_.keep_under.empty()) return true;
  const bool under =
      finding.user_stack &&
      std::any_of(finding.user_stack->begin(), finding.user_stack->end(),
                  [this](const StackFrame& frame) {
                    return glob_matches(options_.keep_under, frame.name) ||
                           frame.name.substr(0, frame.name.find('(')) == options_.keep_under;
                  });
  if (!under) ++elsewhere_;
  return under;
}

void StallView::add_callers(const RawStall& stall, Finding& finding) {
  for (std::size_t i = 0; i < stall.chain.size(); ++i) {
    const RawWait* wait = stall.chain[i].wait;
    const auto call = last_calls_.find(stall.chain[i].waker->header.tid);
    if (!wait || call == last_calls_.end()) continue;
    if (call->second.begin_ns <= wait->out_ns() && wait->in_ns() <= call->second.end_ns)
      finding.chain[i].user_stack = call->second.user_stack;
  }
  if (!finding.user_stack) return;
  if (last_calls_.size() >= last_calls_kept) last_calls_.clear();
  last_calls_[finding.thread.tid] = {stall.begin_ns(), stall.span.header.time_ns,
                                     *finding.user_stack};
}

bool StallView::is_news(Finding& finding) {
  if (causes_.size() >= causes_kept && !causes_.contains(finding.cause)) return true;
  Cause& cause = causes_[finding.cause];
  if (cause.count++ == 0) {
    cause.repeats.number = finding.number;
    cause.repeats.name = finding.name;
  } else {
    finding.like = cause.repeats.number;
  }
  if (options_.first == 0 || cause.count <= options_.first) return true;
  ++cause.repeats.count;
  cause.repeats.latency_ns += finding.latency_ns;
  cause.repeats.longest_ns = std::max(cause.repeats.longest_ns, finding.latency_ns);
  return false;
}

/// Names a call on its way back. The result may be gone if the call is restarted.
void StallView::name_call(const RawStall& stall, Finding& finding) const {
  const auto nr = static_cast<u32>(stall.span.subject);
  finding.name = syscall_name(ABI_NATIVE, nr, info_.names);
  if (!stall.call && !stall.user_stack.stack.empty()) {
    syscall_call call{};
    call.header = stall.span.header;
    call.header.size = sizeof call;
    call.nr = nr;
    call.abi = ABI_NATIVE;
    call.flags = SYSCALL_UNRETURNED;
    std::copy(stall.arguments.begin(), stall.arguments.end(), call.arguments);
    add_call(finding, Record{&syscall_call_schema, std::as_bytes(std::span(&call, 1))},
             info_.names);
  }
  finding.cause = cause_of(finding);
}

Finding StallView::explained(const RawStall& stall) {
  if (!options_.wants_user_stacks || options_.wants_user_stacks(stall))
    return explain(stall, namer_, info_.names);
  WithoutUserStacks brief(namer_);
  return explain(stall, brief, info_.names);
}

void StallView::stall(const RawStall& stall) {
  const std::uint64_t threshold_ns = threshold_of(stall);
  // Some spans are not late: thresholds may change, the kernel may not match all names, and ways
  // back are looked for with the least threshold of all.
  const Thresholds& thresholds = settings_at(stall.span.header.time_ns).thresholds;
  const bool may_be_quick = options_.narrowed || stall.is_way_back ||
                            !thresholds.by_thread.empty() || !thresholds.percentiles.empty();
  if (may_be_quick && (threshold_ns == 0 || stall.span.latency_ns < threshold_ns)) return;
  Finding finding = explained(stall);
  finding.threshold_ns = threshold_ns;
  if (stall.is_way_back) name_call(stall, finding);
  finding.purpose = purpose_of(finding, habits_);
  add_callers(stall, finding);
  if (!wanted(stall, finding)) return;
  finding.number = ++found_;
  count_frames(finding, frames_);
  note_hang(stall, finding);
  if (drawing_) drawing_->finding(finding);
  if (options_.sums) blame_.add(finding, {});
  if (is_news(finding) && !options_.only_summary) show(finding);
  if (options_.on_finding) options_.on_finding(finding);
}

/// A threshold is shown once, until it changes.
void StallView::show(const Finding& finding) {
  shown_.resize(std::max<std::size_t>(shown_.size(), finding.number + 1));
  shown_[finding.number] = true;
  const bool is_new_threshold = finding.threshold_ns != shown_threshold_ns_;
  shown_threshold_ns_ = finding.threshold_ns;
  sink_.section(std::make_shared<FindingSection>(finding, is_new_threshold));
}

void StallView::tick(KernelTime now) {
  assembler_.tick(now);
}

void StallView::show_repeats() {
  std::vector<const Repeats*> repeats;
  for (const auto& [text, cause] : causes_)
    if (cause.repeats.count > 0) repeats.push_back(&cause.repeats);
  std::sort(repeats.begin(), repeats.end(),
            [](const Repeats* a, const Repeats* b) { return a->number < b->number; });
  for (const Repeats* one : repeats) sink_.section(std::make_shared<RepeatsSection>(*one));
}

void StallView::show_causes(const SessionInfo& info) {
  const KernelTime end = info.start + info.duration;
  const auto end_ns = static_cast<std::uint64_t>(end.time_since_epoch().count());
  std::map<std::uint32_t, std::uint64_t> open_ns;
  for (const auto& [hang, number] : hangs_) {
    const auto& [tid, begin_ns] = hang;
    if (end_ns > begin_ns) open_ns[tid] = end_ns - begin_ns;
  }
  blame_.finish(end, open_ns);
  sink_.section(std::make_shared<CausesSection>(
      blame_, CausesSection::Options{.top = options_.top,
                                     .shows_longest = options_.only_summary,
                                     .shown = std::move(shown_)}));
}

void StallView::end(SessionInfo info, Receipt receipt) {
  finish();
  if (!options_.only_summary) show_repeats();
  if (!options_.thresholds.percentiles.empty())
    sink_.section(std::make_shared<ChosenSection>(chosen_.rows(info.names), options_.top));
  if (options_.sums) show_causes(info);
  info.notes.push_back(
      found_ > 0
          ? fmt::format("{} of {}", counted(found_, "stall"), counted(causes_.size(), "cause"))
      : left_out_.empty() && elsewhere_ == 0
          ? "nothing took as long as the threshold"
          : "no stall is shown: all that took as long as the threshold is left out");
  if (hung_ > 0)
    info.notes.push_back(
        fmt::format("{} {} still in progress", grouped(hung_), hung_ == 1 ? "was" : "were"));
  for (std::string& note : left_out_.notes()) info.notes.push_back(std::move(note));
  if (elsewhere_ > 0)
    info.notes.push_back(fmt::format("stalls not under {}: {}", printable(options_.keep_under),
                                     grouped(elsewhere_)));
  if (const std::uint64_t waits = assembler_.waits_forgotten())
    info.notes.push_back(fmt::format(
        "stalls that lack waits, which were forgotten to bound memory: {}", grouped(waits)));
  if (frames_.user + frames_.kernel > 0) receipt.frames = frames_;
  sink_.end(info, receipt);
  if (drawing_) drawing_->end(info, receipt);
}

}  // namespace overdue
