#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "flame/drawing.h"
#include "flame/folded.h"
#include "flame/stack_filter.h"
#include "report/stalls/view.h"

namespace overdue {

struct FlameInputOptions {
  StackFilterOptions filter = {};
  std::optional<WeightUnit> unit = {};  ///< of folded stacks; without it: samples
  std::optional<Duration> from = {};    ///< earliest end of a finding, since the recording began
  std::optional<Duration> to = {};      ///< latest end
  bool quiet = false;                   ///< no notes on standard error
  /// Sets the options of a view to those of a recording (live/recorded_stalls.h).
  std::function<void(const SessionInfo&, StallViewOptions&)> take_recorded = {};
};

/// The stacks of the files of `overdue flame`: folded stacks, and the findings of recordings. All
/// contents are hostile. Used by one thread.
class FlameInput {
 public:
  /// Reads all files; `-` is standard input. `before`: a file with earlier stacks to compare with,
  /// or empty. Throws Error if a file cannot be read, or if nothing is left to draw.
  FlameInput(FlameInputOptions options, const std::vector<std::string>& files,
             const std::string& before);

  const StackTree& tree() const { return tree_; }
  /// The names of the files: `a.folded, b.folded`. Raw.
  const std::string& names() const { return names_; }
  const std::string& before_name() const { return before_name_; }
  /// What was read and what was left out, a line each. Raw.
  const std::vector<std::string>& receipt() const { return receipt_; }
  /// Sets the texts of a drawing of tree(), and whether it shows differences.
  void describe(DrawingOptions& drawing) const;
  /// Prints to standard error what was left out, for formats that have no place for that.
  void print_left_out() const;

 private:
  struct File {
    std::string path;
    Fd file;
    std::string taken;  ///< first bytes, if they cannot be read again
    bool is_recording = false;
  };
  /// Stacks of one file, or of all files together.
  struct Counts {
    std::uint64_t read = 0;
    std::uint64_t outside = 0;  ///< findings outside of the range of time
  };

  static File open_file(const std::string& path);
  void check_range(const std::vector<File>& files) const;
  WeightUnit unit_of(const std::vector<File>& files) const;
  Counts read(File& file, const FoldedReader::OnStack& on_stack);
  Counts read_folded(File& file, const FoldedReader::OnStack& on_stack);
  Counts read_recording(File& file, const FoldedReader::OnStack& on_stack);
  void note_filter(const StackFilter& filter, std::uint64_t kept_weight);
  void check_not_empty(std::uint64_t weight, const std::string& names, const Counts& counts,
                       const StackFilter& filter) const;

  FlameInputOptions options_;
  StackTree tree_;
  std::string names_, before_name_;
  std::vector<std::string> receipt_;
  std::vector<std::string> left_out_;  ///< the lines of receipt_ about the choice of stacks
  bool has_folded_ = false;
};

}  // namespace overdue
