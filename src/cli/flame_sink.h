#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/sink.h"
#include "flame/stack_tree.h"

namespace overdue {

/// What the name of a drawing ends in: "html", "folded", else "svg".
std::string_view flame_format_of(std::string_view path);

/// The stacks of a finding, by where its time went: the thread, the user's functions, the
/// operation, then for each wait the kernel's functions, and for the rest of its time what the
/// thread did instead ("on CPU", "run queue", …). Weights are in nanoseconds.
std::vector<FoldedStack> folded_stacks(const Finding& finding);

/// Findings that lie in others of the same thread are left out: a lock that was waited for in a
/// late call, what a call was while it hung. Their time is the other's too. One thread.
class NestedFindings {
 public:
  using Draw = std::function<void(const FoldedStack&)>;

  explicit NestedFindings(Draw draw) : draw_(std::move(draw)) {}
  /// In the order of their ends. What is not its thread's own time (block requests, interrupts) is
  /// drawn at once.
  void add(const Finding& finding);
  /// Draws what is kept.
  void end();

 private:
  /// What may yet turn out to lie in another.
  struct Kept {
    std::uint64_t begin_ns, end_ns;
    std::vector<FoldedStack> stacks;
  };
  void draw(const std::vector<FoldedStack>& stacks) const;

  Draw draw_;
  std::map<std::uint32_t, std::vector<Kept>> kept_;  ///< by thread
  std::size_t count_ = 0;
};

/// Draws where the time of all findings went, into a file at the end.
class FlameSink final : public Sink {
 public:
  /// `format` as flame_format_of() says it.
  FlameSink(std::string path, std::string_view format) : path_(std::move(path)), format_(format) {}

  void finding(const Finding& finding) override;
  /// Throws Error where the file cannot be written.
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  std::string path_;
  std::string format_;
  StackTree tree_{WeightUnit::microseconds};
  NestedFindings findings_{
      [this](const FoldedStack& stack) { tree_.add(stack.frames, (stack.weight + 500) / 1000); }};
};

}  // namespace overdue
