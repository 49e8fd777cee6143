#include "report/stalls/flame.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "core/span_kinds.h"
#include "sinks/output.h"
#include "sinks/text_format.h"
#include "target/output_file.h"

namespace overdue {
namespace {

using Frames = std::vector<FoldedFrame>;

/// At this number of kept findings, all are drawn. An enclosing finding that ends later is then
/// drawn beside them.
constexpr std::size_t kept_max = 20'000;

FrameKind kind_of(const StackFrame& frame) {
  if (frame.name.empty()) return FrameKind::unknown;
  return frame.is_kernel ? FrameKind::kernel : FrameKind::user;
}

/// Whether an interrupt begins in this function: the functions that call it were interrupted.
bool begins_interrupt(const StackFrame& frame) {
  return frame.name.starts_with("asm_") || frame.name.starts_with("el1h_");
}

void append_waker(Frames& frames, const Waker& waker) {
  frames.push_back({std::string(woken_by), FrameKind::waiting});
  for (const StackFrame& frame : waker.stack) {
    frames.push_back({to_text(frame), kind_of(frame)});
    if (!waker.is_thread && begins_interrupt(frame)) break;
  }
  frames.push_back({waker.is_thread ? waker.thread.comm : waker.context, FrameKind::thread});
}

/// The waker of the only wait in a place. Several waits may have had several wakers.
const Waker* waker_in(const Finding& finding, const WaitPlace& place) {
  if (place.count > 1 || place.longest >= finding.waits.size()) return nullptr;
  const std::optional<Waker>& waker = finding.waits[place.longest].waker;
  return waker && (waker->is_thread || waker->context != "unknown") ? &*waker : nullptr;
}

/// The stacks of one finding, which share their outer frames.
class Folding {
 public:
  explicit Folding(const Finding& finding) {
    prefix_.push_back({finding.thread.comm.empty() ? fmt::format("thread {}", finding.thread.tid)
                                                   : finding.thread.comm,
                       FrameKind::thread});
    if (finding.user_stack) append_outermost_first(prefix_, *finding.user_stack);
    prefix_.push_back({finding.name, FrameKind::syscall});
  }

  /// `waker`: null if it is not known, or not wanted.
  void add(const Stack& kernel_stack, const Waker* waker, std::uint64_t ns) {
    Frames frames = prefix_;
    append_outermost_first(frames, kernel_stack);
    if (waker) append_waker(frames, *waker);
    add(std::move(frames), ns);
  }
  void add(std::string_view what, FrameKind kind, std::uint64_t ns) {
    Frames frames = prefix_;
    frames.push_back({std::string(what), kind});
    add(std::move(frames), ns);
  }

  std::vector<FoldedStack> take() { return std::move(stacks_); }

 private:
  void add(Frames frames, std::uint64_t ns) {
    if (ns > 0) stacks_.push_back({std::move(frames), ns});
  }

  Frames prefix_;
  std::vector<FoldedStack> stacks_;
};

std::uint64_t beyond(std::uint64_t all, std::uint64_t part) {
  return all > part ? all - part : 0;
}

/// Whether the latency is time of the finding's thread. The finding of a lock has no breakdown.
bool is_own_time(const Finding& finding) {
  const auto kind = find_span_kind(finding.span);
  return finding.breakdown || (kind && is_of_thread(static_cast<std::uint16_t>(*kind)));
}

}  // namespace

void append_outermost_first(std::vector<FoldedFrame>& frames, const Stack& stack) {
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
    frames.push_back({to_text(*frame), kind_of(*frame)});
    if (frame->follows_gap) frames.push_back({"…", FrameKind::unknown});
  }
}

std::vector<FoldedStack> folded_stacks(const Finding& finding, WakerFrames wakers) {
  Folding folding(finding);
  std::uint64_t blocked_ns = 0;
  // The finding of a late wake-up has the wait before it, which is no part of its latency.
  const bool has_blocked = !finding.breakdown || finding.breakdown->blocked_ns() > 0;
  for (const WaitPlace& place : finding.places) {
    if (!has_blocked) break;
    const Waker* const waker = wakers == WakerFrames::joined ? waker_in(finding, place) : nullptr;
    folding.add(place.kernel_stack, waker, place.blocked_ns);
    blocked_ns += place.blocked_ns;
  }
  if (!finding.breakdown) {
    folding.add(finding.kernel_stack, nullptr, beyond(finding.latency_ns, blocked_ns));
    return folding.take();
  }
  const Breakdown& parts = *finding.breakdown;
  folding.add("blocked, too shortly for a stack", FrameKind::waiting,
              beyond(parts.blocked_ns(), blocked_ns));
  folding.add("run queue", FrameKind::waiting, parts.ns(ShareKind::runqueue));
  folding.add("preempted", FrameKind::waiting, parts.ns(ShareKind::preempted));
  folding.add("throttled", FrameKind::waiting, parts.ns(ShareKind::throttled));
  folding.add("on CPU", FrameKind::kernel, parts.ns(ShareKind::oncpu));
  folding.add("interrupts", FrameKind::kernel, parts.ns(ShareKind::irq));
  folding.add("soft interrupts", FrameKind::kernel, parts.ns(ShareKind::softirq));
  folding.add("unknown", FrameKind::unknown, parts.unexplained_ns);
  return folding.take();
}

std::span<const FoldedFrame> without_waker(std::span<const FoldedFrame> frames) {
  const auto end =
      std::ranges::find(frames, FoldedFrame{std::string(woken_by), FrameKind::waiting});
  return frames.first(static_cast<std::size_t>(end - frames.begin()));
}

void NestedFindings::draw(const std::vector<FoldedStack>& stacks) const {
  for (const FoldedStack& stack : stacks) draw_(stack);
}

void NestedFindings::add(const Finding& finding) {
  if (!is_own_time(finding)) return draw(folded_stacks(finding));
  const auto end_ns = static_cast<std::uint64_t>(finding.time.time_since_epoch().count());
  Kept added{beyond(end_ns, finding.latency_ns), end_ns, folded_stacks(finding)};
  const auto lies_in = [](const Kept& inner, const Kept& outer) {
    return inner.begin_ns >= outer.begin_ns && inner.end_ns <= outer.end_ns;
  };
  // No kept finding lies in another, so the findings that lie in the new one ended last.
  std::vector<Kept>& of_thread = kept_[finding.thread.tid];
  for (; !of_thread.empty() && lies_in(of_thread.back(), added); --count_) of_thread.pop_back();
  if (!of_thread.empty() && lies_in(added, of_thread.back())) return;
  of_thread.push_back(std::move(added));
  if (++count_ >= kept_max) end();
}

void NestedFindings::end() {
  for (const auto& [tid, all] : kept_)
    for (const Kept& kept : all) draw(kept.stacks);
  kept_.clear();
  count_ = 0;
}

void FlameSink::finding(const Finding& finding) {
  findings_.add(finding);
}

std::string FlameSink::text(std::string_view format, const SessionInfo& info,
                            const Receipt& receipt) {
  findings_.end();
  DrawingOptions drawing;
  drawing.title = title_;
  drawing.subtitle = target_text(info.target);
  drawing.counted = "wait";
  for (const std::string& line : receipt_lines(info, receipt)) drawing.footer += line + '\n';
  return flame_text(tree_, drawing, format);
}

void FlameSink::end(const SessionInfo& info, const Receipt& receipt) {
  Output output(create_output_file(path_));
  output.append(text(format_, info, receipt));
  output.flush();
}

}  // namespace overdue
