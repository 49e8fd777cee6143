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

/// Names frames of a recording that has modules, offsets and build ids only, by the files of the
/// machine where it is read: the module itself where it is still the same build, else its debug
/// file by build id; with source lines and inlined functions if they are wanted. A file of another
/// build names nothing. The maker of the recording chose the files: a child without privileges
/// reads them. Used by one thread.
class FileNames {
 public:
  struct Options {
    bool lines = false;
    FetchDebugFile fetch{};   ///< may be empty
    std::string directory{};  ///< where files are looked for first; may be empty
  };
  /// Throws Error where there is no sandbox to be had.
  explicit FileNames(Options options);

  /// What is inlined there, innermost first, and the frame behind it, with its name and line; the
  /// frame as it is where no file names it.
  Stack named(StackFrame frame);

 private:
  struct Mapped {
    std::uint64_t start = 0, size = 0;
  };

  /// Where the file is mapped in a process that is none; nothing of it where it cannot be opened.
  Mapped mapped(const std::string& path, Fd file);
  /// Empty where `file` is of another build, or knows nothing.
  Stack resolved(const Mapped& file, const StackFrame& frame);
  /// Paths where the module may be found.
  std::vector<std::string> paths_of(const std::string& module) const;
  /// What may be of that build: the file itself, and its debug files.
  const std::vector<Mapped>& candidates(const StackFrame& frame);

  Options options_;
  std::map<std::uint64_t, Fd> files_;  // by where they are mapped
  ProcessImages images_;
  SandboxedResolver resolver_;
  std::map<std::pair<std::string, std::string>, std::vector<Mapped>>
      candidates_;                // by module and build id
  std::uint64_t next_start_ = 0;  // of the next file
  KernelTime now_{};
};

}  // namespace overdue
