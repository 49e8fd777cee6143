#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "resolve/process_images.h"
#include "symbols/perf_map.h"
#include "symbols/process_maps.h"

namespace overdue {

/// The source of the files that a StackReader reads, for the process whose stack is being read. A
/// process that may not open files gets them from another process through this interface.
class FileSource {
 public:
  virtual ~FileSource() = default;
  virtual Fd mapped_file(const Mapping& mapping) = 0;
  virtual Fd debug_file(const std::string& path) = 0;
  virtual std::vector<std::byte> vdso(const Mapping& mapping) = 0;
  virtual PerfMap::File perf_map() = 0;
  /// The memory of the process, as /proc/PID/mem; empty if it has ended, or may not be read.
  virtual Fd memory() = 0;
};

/// Gets a debug file that is not on this machine, by the build id of its program; empty if
/// unavailable.
using FetchDebugFile = std::function<Fd(const std::string& build_id)>;

/// Opens the files itself. Reads only the first bytes of a debug file, to refuse a file that is not
/// ELF.
class OpenedFiles : public FileSource {
 public:
  explicit OpenedFiles(ProcessImages& images, FetchDebugFile fetch = {})
      : images_(images), fetch_(std::move(fetch)) {}

  /// Selects the process of the requests that follow. `image` must live until the next call.
  void set_process(const ProcessImage* image, pid_t pid) {
    image_ = image;
    pid_ = pid;
  }
  Fd mapped_file(const Mapping& mapping) override;
  /// Opens only possible debug files: below /usr/lib/debug, or beside a file that the process has
  /// mapped.
  Fd debug_file(const std::string& path) override;
  std::vector<std::byte> vdso(const Mapping& mapping) override;
  PerfMap::File perf_map() override;
  Fd memory() override;

 private:
  bool may_be_debug_file(const std::string& path) const;

  ProcessImages& images_;
  FetchDebugFile fetch_;
  const ProcessImage* image_ = nullptr;
  pid_t pid_ = 0;
};

}  // namespace overdue
