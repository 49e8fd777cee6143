#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "base/time.h"
#include "resolve/file_source.h"
#include "symbols/file_key.h"
#include "symbols/lines.h"

namespace overdue {

/// The source lines of mapped files, from their own DWARF or from that of their separate debug
/// files. The memory and the time for a stack are bounded. Uses libdw: for the sandbox only, see
/// SourceLines. Used by one thread.
class LineReader {
 public:
  struct Options {
    std::size_t cache_bytes = 768u << 20;  ///< the file used last stays
    std::size_t cache_files = 64;
    Duration time_of_stack = std::chrono::seconds(4);  ///< frames beyond it have no lines
    LineLimits limits{.section_bytes = 512u << 20, .time = std::chrono::milliseconds(1000)};
  };

  LineReader(const Options& options, FileSource& files) : options_(options), files_(files) {}

  void begin_stack() { until_ = KernelClock::now() + options_.time_of_stack; }
  /// Whether the time for this stack is over.
  bool is_late() const { return KernelClock::now() > until_; }
  /// As SourceLines::find(): `code` is a virtual address in the file of `mapping`.
  std::vector<SourceLine> find(const Mapping& mapping, std::uint64_t code);

 private:
  struct File {
    FileKey key;
    SourceLines lines;
    std::uint64_t bias;
    std::size_t bytes;
  };

  File* file_of(const Mapping& mapping);
  File read(const FileKey& key, Fd file, const Mapping& mapping);

  Options options_;
  FileSource& files_;
  KernelTime until_{};
  std::list<File> order_;  // most recently used first
  std::map<FileKey, std::list<File>::iterator> by_key_;
  std::size_t bytes_ = 0;
};

}  // namespace overdue
