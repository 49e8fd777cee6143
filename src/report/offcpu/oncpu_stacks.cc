#include "report/offcpu/oncpu_stacks.h"

#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "core/full_names.h"
#include "report/profile/sample_stacks.h"

namespace overdue {
namespace {

/// CPU time, and the samples among which it is shared out.
struct Shares {
  std::string comm;
  std::uint64_t cpu_ns = 0;
  std::vector<std::pair<std::vector<FoldedFrame>, std::uint64_t>> stacks{};

  void draw(FlameSink& to) const {
    std::uint64_t samples = 0;
    for (const auto& [frames, count] : stacks) samples += count;
    if (samples == 0)
      return to.add(std::vector<FoldedFrame>{{comm, FrameKind::thread},
                                             {"on the CPU, without a sample", FrameKind::unknown}},
                    cpu_ns);
    std::uint64_t left_ns = cpu_ns;
    for (const auto& [frames, count] : stacks) {
      // The last one has the rest, so that the shares add up.
      const std::uint64_t ns = samples == count
                                   ? left_ns
                                   : static_cast<std::uint64_t>(static_cast<double>(left_ns) *
                                                                static_cast<double>(count) /
                                                                static_cast<double>(samples));
      to.add(frames, ns);
      left_ns -= ns;
      samples -= count;
    }
  }
};

}  // namespace

void OncpuStacks::record(const Record& record) {
  if (record.schema->id != RECORD_PROFILE_SAMPLE) return;
  const event_header header = record.header();
  const auto& [kernel, user] = stacks_of_sample(record, namer_);
  std::vector<FoldedFrame> frames{
      {std::to_string(header.tid), FrameKind::thread},
      {full_name(names_, header.tid, fixed_text(header.comm), QueueOfWork::left_out),
       FrameKind::thread}};
  append_outermost_first(frames, user.frames);
  append_outermost_first(frames, kernel);
  samples_.add(frames, 1);
}

void OncpuStacks::draw(const std::vector<OffcpuRow>& threads, FlameSink& to) const {
  // 0: rows of several threads, and the samples of threads without a row.
  std::map<std::string, Shares> by_tid;
  for (const OffcpuRow& row : threads) {
    Shares& shares = by_tid[std::to_string(row.tid)];
    shares.comm = row.comm;
    shares.cpu_ns += row.oncpu_ns;
  }
  for (FoldedStack& stack : samples_.stacks()) {
    if (stack.frames.empty()) continue;
    const auto own = by_tid.find(stack.frames.front().name);
    stack.frames.erase(stack.frames.begin());
    Shares& shares = own != by_tid.end() ? own->second : by_tid["0"];
    shares.stacks.emplace_back(std::move(stack.frames), stack.weight);
  }
  for (const auto& [tid, shares] : by_tid) shares.draw(to);
}

}  // namespace overdue
