#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/members.h"
#include "flame/stack_tree.h"
#include "report/offcpu/table.h"
#include "report/stalls/flame.h"
#include "report/stalls/view.h"

namespace overdue {

/// The waits of threads of one name with the same functions, and the same waker.
struct OffcpuStack {
  std::string comm{};   ///< name of the threads
  std::string state{};  ///< "sleeping", "run queue", …; empty: waits without a stack
  std::uint64_t total_ns = 0;
  std::uint64_t count = 0;   ///< waits; 0: not known
  std::uint64_t max_ns = 0;  ///< longest wait; 0: not known
  /// Innermost first. Time in the run queue has the functions of the program alone.
  std::vector<FoldedFrame> frames{};
  std::string waker{};                      ///< thread or interrupt; empty: not known, or none
  std::vector<FoldedFrame> waker_frames{};  ///< innermost first
};

void describe(Members& member, const OffcpuStack& stack);
/// The same without lists: the cells of a row.
void describe_row(Members& cell, const OffcpuStack& stack);

/// Adds up waits by their stacks: waits that took `shortest` or longer with their functions, the
/// others of each thread in one row. Used by one thread.
class OffcpuStacks {
 public:
  /// `namer` must outlive this object.
  OffcpuStacks(StackNamer& namer, Duration shortest) : namer_(namer), shortest_(shortest) {}
  OffcpuStacks(const OffcpuStacks&) = delete;
  OffcpuStacks& operator=(const OffcpuStacks&) = delete;

  /// `drawing`, which must outlive this object, gets every stack too. `only_waits`: it has nothing
  /// else; otherwise the kernel's functions of a wait look like waiting.
  void draw_to(FlameSink& drawing, WakerFrames wakers, bool only_waits) {
    drawing_ = &drawing;
    drawn_wakers_ = wakers;
    only_waits_ = only_waits;
  }
  void begin(const SessionInfo& info);
  /// For waits from now on.
  void use_names(const Names& names) { waits_->use_names(names); }
  void record(const Record& record);
  /// Handles the waits that need not wait for a record any more.
  void tick() { waits_->tick(now_); }
  /// No more records come.
  void finish() { waits_->finish(); }
  /// Adds the time off the CPU of `threads` that is in no stack. Once, after finish().
  void add_rest(const std::vector<OffcpuRow>& threads);

  /// Longest in total first.
  std::vector<OffcpuStack> rows() const;
  /// A sentence if there were too many stacks.
  std::vector<std::string> notes() const;

 private:
  /// A sink that needs no findings: they come through a function.
  class NoSink final : public Sink {
    void begin(const SessionInfo&) override {}
    void record(const Record&) override {}
    void end(const SessionInfo&, const Receipt&) override {}
  };

  void add(const Finding& finding);
  void add(std::span<const FoldedFrame> frames, std::uint64_t ns);
  void draw(std::span<const FoldedFrame> frames, std::uint64_t ns);

  StackNamer& namer_;
  Duration shortest_;
  FlameSink* drawing_ = nullptr;
  WakerFrames drawn_wakers_{};
  bool only_waits_ = true;
  NoSink no_sink_;
  StackTree tree_;                    ///< weights in nanoseconds
  std::unique_ptr<StallView> waits_;  ///< from begin() on
  KernelTime now_{};
  std::map<std::uint32_t, std::uint64_t> added_ns_;  ///< by tid
};

/// The table of stacks. `top`: number of stacks; 0: all. `whole`: every frame.
std::string stacks_text(const std::vector<OffcpuStack>& stacks, std::size_t top, bool whole);

}  // namespace overdue
