#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/stack.h"
#include "resolve/process_images.h"
#include "resolve/sandboxed_resolver.h"

namespace overdue {

/// Names the frames of a recording that has only modules, offsets and build ids, by files of the
/// machine that reads the recording: the module itself if it is still the same build, else its
/// debug file by build id. Source lines and inlined functions are optional. A file of another build
/// names nothing. The author of the recording chose the files, so a child without privileges reads
/// them. Used by one thread.
class FileNames {
 public:
  struct Options {
    bool lines = false;
    FetchDebugFile fetch{};   ///< may be empty
    std::string directory{};  ///< folder that is searched first; may be empty
  };
  /// Throws Error if no sandbox can be made.
  explicit FileNames(Options options);

  /// The functions inlined at the frame, innermost first, then the frame with its name and line.
  /// The frame unchanged if no file names it.
  Stack named(StackFrame frame);

 private:
  struct Mapped {
    std::uint64_t start = 0, size = 0;
  };

  /// The place of the file in an imaginary process; size 0 if the file cannot be opened or is
  /// empty.
  Mapped mapped(const std::string& path, Fd file);
  /// Empty if `file` is of another build, or does not name the frame.
  Stack resolved(const Mapped& file, const StackFrame& frame);
  /// Possible paths of the module.
  std::vector<std::string> paths_of(const std::string& module) const;
  /// The files that may be of the frame's build: the module and its debug files.
  const std::vector<Mapped>& candidates(const StackFrame& frame);

  Options options_;
  std::map<std::uint64_t, Fd> files_;  // by start of the mapping
  ProcessImages images_;
  SandboxedResolver resolver_;
  std::map<std::pair<std::string, std::string>, std::vector<Mapped>>
      candidates_;                // by module and build id
  std::uint64_t next_start_ = 0;  // start of the next mapping
  KernelTime now_{};
};

}  // namespace overdue
