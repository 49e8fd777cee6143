#include "live/offcpu_flame.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

StallViewOptions every_wait(Duration shortest, std::function<void(const Finding&)> on_finding) {
  StallViewOptions options;
  options.thresholds.general = shortest;
  options.spans = {SPAN_OFFCPU};
  options.idle = true;
  options.sums = false;
  options.on_finding = std::move(on_finding);
  return options;
}

}  // namespace

OffcpuFlame::OffcpuFlame(OffcpuView& view, LiveStacks& stacks, const std::string& path,
                         Duration shortest)
    : view_(view),
      stacks_(stacks),
      drawing_(path, flame_format_of(path), "Where threads were off the CPU"),
      without_stack_(fmt::format("without a stack: shorter than {}, or still in progress",
                                 format_duration(shortest))),
      waits_(every_wait(shortest,
                        [this](const Finding& finding) {
                          drawn_ns_[finding.thread.tid] += finding.latency_ns;
                        }),
             stacks, no_sink_, &drawing_) {}

void OffcpuFlame::begin(const SessionInfo& info) {
  view_.begin(info);
  stacks_.begin(info);
  waits_.begin(info);
}

void OffcpuFlame::record(const Record& record) {
  view_.record(record);
  const std::uint16_t kind = record.schema->id;
  if (kind == RECORD_WAIT_STACK) stacks_.will_name(record.header().pid);
  if (kind != RECORD_OFFCPU_THREAD && kind != RECORD_OFFCPU_DISPLACER) waits_.record(record);
}

void OffcpuFlame::tick() {
  view_.tick();
  waits_.tick(KernelClock::now());
}

/// The time off the CPU of each thread without the waits that are drawn.
void OffcpuFlame::draw_rest() {
  for (const OffcpuRow& row : view_.threads()) {
    // A tid may be used again: what is drawn of it is time of any of its threads.
    std::uint64_t& left_ns = drawn_ns_[row.tid];
    const std::uint64_t drawn_ns = std::min(left_ns, row.offcpu_ns());
    left_ns -= drawn_ns;
    if (row.offcpu_ns() > drawn_ns)
      drawing_.add({{row.comm, FrameKind::thread}, {without_stack_, FrameKind::waiting}},
                   row.offcpu_ns() - drawn_ns);
  }
}

void OffcpuFlame::end(const SessionInfo& info, const Receipt& receipt) {
  SessionInfo reported = info;
  for (std::string& note : stacks_.notes()) reported.notes.push_back(std::move(note));
  draw_rest();
  waits_.end(reported, receipt);
  view_.end(reported, receipt);
}

}  // namespace overdue
