#include "report/offcpu/stacks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "sinks/text_format.h"
#include "target/cpu_list.h"

namespace overdue {
namespace {

constexpr std::size_t stack_frames_shown = 12;  // of a stack, and of a waker

/// Stands for the time of a wait that no part explains.
const FoldedFrame unknown_part{"unknown", FrameKind::unknown};

bool is_waiting(const FoldedFrame& frame) {
  return frame.kind == FrameKind::waiting;
}

void describe_frame(Members& member, const FoldedFrame& frame) {
  member.type("offcpu_frame", "A function of a stack, innermost first");
  member("function", frame.name, {.help = "without a name: module and offset in brackets"});
  member("kernel", frame.kind == FrameKind::kernel);
}

/// Outermost first, as in a folded stack.
std::string joined(const std::vector<FoldedFrame>& frames) {
  std::string text;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    text += (text.empty() ? "" : ";") + frame->name;
  return text;
}

/// Takes a folded stack apart: thread, functions of the program, state, functions of the kernel or
/// the part of the wait, then the waker.
OffcpuStack row_of(std::span<const FoldedFrame> frames) {
  OffcpuStack row;
  if (frames.empty()) return row;
  const std::span<const FoldedFrame> own = without_waker(frames);
  row.comm = own.front().name;
  for (const FoldedFrame& frame : own.subspan(1)) {
    if (frame.kind == FrameKind::syscall || (is_waiting(frame) && !row.state.empty()))
      row.state = frame.name;
    else if (!is_waiting(frame) && frame != unknown_part)
      row.frames.insert(row.frames.begin(), frame);
  }
  if (own.size() + 1 >= frames.size()) return row;
  row.waker = frames.back().name;
  row.waker_frames.assign(frames.begin() + static_cast<std::ptrdiff_t>(own.size()) + 1,
                          frames.end() - 1);
  return row;
}

std::string frames_text(const std::vector<FoldedFrame>& frames, bool whole) {
  std::string text;
  const std::size_t shown = whole ? frames.size() : std::min(frames.size(), stack_frames_shown);
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("          {}\n", printable(frames[i].name));
  if (shown < frames.size())
    text += fmt::format("          … {} (-v shows them)\n",
                        counted(frames.size() - shown, "more frame"));
  return text;
}

std::string stack_text(const OffcpuStack& stack, std::uint64_t all_ns, bool whole) {
  std::string text = fmt::format("{:>8} {:>5}%", duration_text(stack.total_ns),
                                 percent_of(stack.total_ns, all_ns));
  if (stack.state.empty())
    return text + fmt::format("  {}: waits without a stack\n", printable(stack.comm));
  text += fmt::format("  {}, {}: {}, longest {}\n", printable(stack.comm), stack.state,
                      counted(stack.count, "wait"), duration_text(stack.max_ns));
  text += frames_text(stack.frames, whole);
  if (!stack.waker.empty())
    text += fmt::format("        woken by {}\n{}", printable(stack.waker),
                        frames_text(stack.waker_frames, whole));
  return text;
}

void describe_figures(Members& member, const OffcpuStack& stack) {
  member("comm", stack.comm, {.help = "name of the threads"});
  member.given(!stack.state.empty(), "state", stack.state,
               {.help = "sleeping, uninterruptible, preempted, other, …; run queue and throttled: "
                        "the parts of waits from the wake-up on; missing: waits without a stack, "
                        "which were too short, go on, or began before the session"});
  member("total_ns", stack.total_ns, {.help = "with all stacks, offcpu_ns of the threads"});
  member("count", when(stack.count > 0, stack.count));
  member("max_ns", when(stack.max_ns > 0, stack.max_ns), {.help = "longest wait"});
}

}  // namespace

void describe(Members& member, const OffcpuStack& stack) {
  member.type("offcpu_stack", "Waits with the same functions and the same waker");
  describe_figures(member, stack);
  const auto frame = [&](const FoldedFrame& one) { describe_frame(member, one); };
  member.list("frames", stack.frames, frame);
  member.given(!stack.waker.empty(), "waker", stack.waker,
               {.help = "name of the thread, or the interrupt, whose wake-up ended the waits; "
                        "missing: not known, or none"});
  member.list("waker_frames", stack.waker_frames, frame,
              {.help = "where the waker was in the kernel"});
}

void describe_row(Members& cell, const OffcpuStack& stack) {
  describe_figures(cell, stack);
  cell("stack", joined(stack.frames));
  cell.given(!stack.waker.empty(), "waker", stack.waker);
  cell("waker_stack", joined(stack.waker_frames));
}

void OffcpuStacks::begin(const SessionInfo& info) {
  StallViewOptions options;
  options.thresholds.general = shortest_;
  options.spans = {SPAN_OFFCPU};
  if (!info.target.cpus.empty())
    options.cpus = parse_cpu_list(info.target.cpus, cpus_of_any_machine());
  options.idle = true;
  options.sums = false;
  options.only_summary = true;
  options.on_finding = [this](const Finding& finding) { add(finding); };
  waits_ = std::make_unique<StallView>(std::move(options), namer_, no_sink_);
  waits_->begin(info);
}

void OffcpuStacks::record(const Record& record) {
  now_ = std::max(now_, KernelTime{Duration(record.header().time_ns)});
  const std::uint16_t kind = record.schema->id;
  if (kind != RECORD_OFFCPU_THREAD && kind != RECORD_OFFCPU_DISPLACER && kind != RECORD_OFFCPU_CPU)
    waits_->record(record);
}

void OffcpuStacks::add(const Finding& finding) {
  added_ns_[finding.thread.tid] += finding.latency_ns;
  for (const FoldedStack& stack : folded_stacks(finding, WakerFrames::joined))
    add(stack.frames, stack.weight);
}

void OffcpuStacks::add(std::span<const FoldedFrame> frames, std::uint64_t ns) {
  tree_.add(frames, ns);
  if (drawing_) draw(drawn_wakers_ == WakerFrames::joined ? frames : without_waker(frames), ns);
}

void OffcpuStacks::draw(std::span<const FoldedFrame> frames, std::uint64_t ns) {
  if (only_waits_) return drawing_->add(frames, ns);
  std::vector<FoldedFrame> drawn(frames.begin(), frames.end());
  const auto state = std::ranges::find(drawn, FrameKind::syscall, &FoldedFrame::kind);
  for (auto frame = state; frame != drawn.end(); ++frame) frame->kind = FrameKind::waiting;
  drawing_->add(drawn, ns);
}

/// A tid may be used again: what was added for it is time of any of its threads.
void OffcpuStacks::add_rest(const std::vector<OffcpuRow>& threads) {
  const std::string name =
      fmt::format("without a stack: shorter than {}, or cut by the session's begin or end",
                  format_duration(shortest_));
  for (const OffcpuRow& row : threads) {
    std::uint64_t& left_ns = added_ns_[row.tid];
    const std::uint64_t added_ns = std::min(left_ns, row.offcpu_ns());
    left_ns -= added_ns;
    add(std::vector<FoldedFrame>{{row.comm, FrameKind::thread}, {name, FrameKind::waiting}},
        row.offcpu_ns() - added_ns);
  }
}

std::vector<OffcpuStack> OffcpuStacks::rows() const {
  // Rows with the same time keep their order.
  std::multimap<std::uint64_t, OffcpuStack, std::greater<>> by_time;
  tree_.visit_stacks([&](std::span<const StackTree::Id> path, std::uint64_t weight) {
    std::vector<FoldedFrame> frames;
    for (const StackTree::Id id : path)
      frames.push_back({std::string(tree_.name(id)), tree_.node(id).kind});
    OffcpuStack& row = by_time.emplace(weight, row_of(frames))->second;
    row.total_ns = weight;
    if (row.state.empty()) return;
    row.count = tree_.own_count(path.back());
    row.max_ns = tree_.node(path.back()).longest;
  });
  std::vector<OffcpuStack> rows;
  for (auto& [ns, row] : by_time) rows.push_back(std::move(row));
  return rows;
}

std::vector<std::string> OffcpuStacks::notes() const {
  const StackTree::Merged& merged = tree_.merged();
  if (merged.stacks == 0) return {};
  return {fmt::format("stacks of waits that are too many to keep apart, and are \"(other)\": {}",
                      grouped(merged.stacks))};
}

std::string stacks_text(const std::vector<OffcpuStack>& stacks, std::size_t top, bool whole) {
  if (stacks.empty()) return "no thread of the target was off the CPU\n";
  std::uint64_t all_ns = 0;
  for (const OffcpuStack& stack : stacks) all_ns += stack.total_ns;
  std::string text = fmt::format("{:>8} {:>6}  THREADS\n", "OFF CPU", "SHARE");
  const std::size_t shown = top == 0 ? stacks.size() : std::min(top, stacks.size());
  for (std::size_t i = 0; i < shown; ++i) text += stack_text(stacks[i], all_ns, whole);
  if (shown < stacks.size())
    text += fmt::format("{} more stacks; --top 0 shows all\n", grouped(stacks.size() - shown));
  return text;
}

}  // namespace overdue
