#include "cli/stall_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/syscalls/syscalls.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t causes_kept = 10'000;
constexpr std::size_t settings_kept = 1'000;
constexpr std::size_t hangs_kept = 10'000;

}  // namespace

StallView::StallView(StallViewOptions options, StackNamer& namer, Sink& sink, Sink* drawing)
    : options_(std::move(options)),
      namer_(namer),
      sink_(sink),
      drawing_(drawing),
      assembler_([this](const RawStall& one) { stall(one); }) {
  change(KernelTime{}, options_.thresholds, options_.timeout);
}

void StallView::begin(const SessionInfo& info) {
  info_ = info;
  sink_.begin(info);
}

/// A hang is remembered until its call ends: what ends as a stall then says so.
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

std::uint64_t StallView::threshold_of(const RawStall& stall) const {
  const Settings& then = settings_at(stall.span.header.time_ns);
  if (stall.span.flags & SPAN_OPEN) return then.timeout ? then.timeout->count() : 0;
  const bool native_call = stall.span.span == SPAN_SYSCALL && stall.call &&
                           stall.call->at<u16>(offsetof(syscall_call, abi)) == ABI_NATIVE;
  const auto threshold =
      native_call ? then.thresholds.of_call(static_cast<std::uint32_t>(stall.span.subject))
                  : then.thresholds.of(static_cast<span_kind>(stall.span.span));
  return threshold ? threshold->count() : 0;
}

void StallView::change(KernelTime at, Thresholds thresholds, std::optional<Duration> timeout) {
  if (settings_.size() >= settings_kept) settings_.erase(settings_.begin());
  settings_.push_back({at, std::move(thresholds), timeout});
}

const StallView::Settings& StallView::settings_at(std::uint64_t time_ns) const {
  const KernelTime time{Duration(time_ns)};
  for (auto one = settings_.rbegin(); one != settings_.rend(); ++one)
    if (one->from <= time) return *one;
  return settings_.front();
}

bool StallView::wanted(const Finding& finding) {
  if (!options_.idle && is_idle(finding)) {
    ++idle_;
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

void StallView::stall(const RawStall& stall) {
  Finding finding = explain(stall, namer_, info_.names);
  finding.threshold_ns = threshold_of(stall);
  if (!wanted(finding)) return;
  finding.number = ++found_;
  note_hang(stall, finding);
  if (drawing_) drawing_->finding(finding);
  if (causes_.size() < causes_kept || causes_.contains(finding.cause)) {
    Cause& cause = causes_[finding.cause];
    if (cause.count++ == 0)
      cause.number = finding.number;
    else
      finding.like = cause.number;
    if (options_.first > 0 && cause.count > options_.first) {
      if (options_.on_finding) options_.on_finding(finding);
      return;
    }
  }
  sink_.finding(finding);
  if (options_.on_finding) options_.on_finding(finding);
}

void StallView::end(SessionInfo info, Receipt receipt) {
  if (options_.first > 0)
    for (const auto& [text, cause] : causes_)
      if (cause.count > options_.first) sink_.more_like(cause.number, cause.count - options_.first);
  info.notes.push_back(
      found_ == 0 ? "nothing took as long as the threshold"
                  : fmt::format("{} of {} causes", counted(found_, "stall"), causes_.size()));
  if (hung_ > 0)
    info.notes.push_back(
        fmt::format("of them calls that were still open after the timeout: {}", grouped(hung_)));
  if (idle_ > 0)
    info.notes.push_back(
        fmt::format("waits for work are not shown: {}; --idle shows them", grouped(idle_)));
  if (elsewhere_ > 0)
    info.notes.push_back(fmt::format("stalls not under {}: {}", printable(options_.keep_under),
                                     grouped(elsewhere_)));
  if (const std::uint64_t waits = assembler_.waits_forgotten())
    info.notes.push_back(
        fmt::format("old waits were forgotten to bound memory: {}; long stalls may lack theirs",
                    grouped(waits)));
  sink_.end(info, receipt);
  if (drawing_) drawing_->end(info, receipt);
}

}  // namespace overdue
