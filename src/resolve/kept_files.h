#pragma once

#include <sys/types.h>

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "resolve/process_image.h"

namespace overdue {

/// Open files, each open once however many mappings share it. Beyond the bound, the least recently
/// used file is closed, even if images still share it.
class KeptFiles {
 public:
  explicit KeptFiles(std::size_t most) : most_(most) {}

  /// Null if `fd` is empty or the bound is 0.
  std::shared_ptr<ProcessImage::KeptFile> keep(Fd fd);
  std::size_t size() const { return by_key_.size(); }

 private:
  using Key = std::pair<dev_t, ino_t>;  // unique while the file is open
  struct Kept {
    Key key;
    std::weak_ptr<ProcessImage::KeptFile> file;
  };
  void close(std::list<Kept>::iterator kept);

  std::size_t most_;
  std::list<Kept> order_;  // most recently used first
  std::map<Key, std::list<Kept>::iterator> by_key_;
};

}  // namespace overdue
