#pragma once

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
};

}  // namespace overdue
