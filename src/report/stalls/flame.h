#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.h"
#include "core/session_info.h"
#include "flame/formats.h"

namespace overdue {

/// The title of a drawing of stalls.
inline constexpr std::string_view stalls_title = "Where the time of stalls went";

/// A weight in nanoseconds as that of a tree in microseconds.
constexpr std::uint64_t rounded_us(std::uint64_t ns) {
  return ns / 1000 + (ns % 1000 >= 500);
}

/// Whether the stack of a wait goes on with the functions of its waker.
enum class WakerFrames : std::uint8_t { left_out, joined };

/// The frame between the functions of a wait and those of its waker.
inline constexpr std::string_view woken_by = "woken by";

/// The stacks of a finding, by where its time went: the thread, the user functions, the operation,
/// then the kernel functions of each wait, and for the rest of the time the state of the thread
/// ("on CPU", "run queue", …). With `joined`, the functions of a wait whose waker is known are
/// followed by `woken_by`, the functions of the waker, innermost first, and its name. Weights are
/// in nanoseconds.
std::vector<FoldedStack> folded_stacks(const Finding& finding,
                                       WakerFrames wakers = WakerFrames::left_out);

/// Appends the functions of a stack, outermost first.
void append_outermost_first(std::vector<FoldedFrame>& frames, const Stack& stack);

/// The frames of a stack before those of the waker.
std::span<const FoldedFrame> without_waker(std::span<const FoldedFrame> frames);

/// Draws findings, except those that lie in another finding of the same thread: a wait for a lock
/// in a late call, a hang of a call that ended late. Their time is the other's too. Used by one
/// thread.
class NestedFindings {
 public:
  using Draw = std::function<void(const FoldedStack&)>;

  explicit NestedFindings(Draw draw) : draw_(std::move(draw)) {}
  /// Takes findings in the order of their ends. A finding whose latency is not time of its thread
  /// (block request, interrupt) is drawn at once.
  void add(const Finding& finding);
  /// Draws the kept findings.
  void end();

 private:
  /// A finding that may yet turn out to lie in another.
  struct Kept {
    std::uint64_t begin_ns, end_ns;
    std::vector<FoldedStack> stacks;
  };
  void draw(const std::vector<FoldedStack>& stacks) const;

  Draw draw_;
  std::map<std::uint32_t, std::vector<Kept>> kept_;  ///< by tid
  std::size_t count_ = 0;
};

/// Draws where the time of all findings went, at the end: into a file, or as the report itself.
class FlameSink {
 public:
  /// `format`: one of flame_formats().
  FlameSink(std::string path, std::string_view format, std::string_view title = stalls_title)
      : path_(std::move(path)), format_(format), title_(title) {}

  void finding(const Finding& finding);
  /// Adds a stack of no finding.
  void add(std::span<const FoldedFrame> frames, std::uint64_t ns) {
    tree_.add(frames, rounded_us(ns));
  }
  /// The drawing in `format`, which may be another one than that of the file.
  std::string text(std::string_view format, const SessionInfo& info, const Receipt& receipt);
  /// Throws Error if the file cannot be written.
  void end(const SessionInfo& info, const Receipt& receipt);

 private:
  std::string path_;
  std::string format_;
  std::string title_;
  StackTree tree_{WeightUnit::microseconds};
  NestedFindings findings_{[this](const FoldedStack& stack) { add(stack.frames, stack.weight); }};
};

}  // namespace overdue
