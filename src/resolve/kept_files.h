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

/// Open files, each one once however many map it. Beyond the bound, the one used longest ago is
/// closed, whoever has a share in it.
class KeptFiles {
 public:
  explicit KeptFiles(std::size_t most) : most_(most) {}

  /// Null where `fd` is none, or none may be kept.
  std::shared_ptr<ProcessImage::KeptFile> keep(Fd fd);
  std::size_t size() const { return by_key_.size(); }

 private:
  using Key = std::pair<dev_t, ino_t>;  // no other file's, while it is open
  struct Kept {
    Key key;
    std::weak_ptr<ProcessImage::KeptFile> file;
  };
  void close(std::list<Kept>::iterator kept);

  std::size_t most_;
  std::list<Kept> order_;  // used last in front
  std::map<Key, std::list<Kept>::iterator> by_key_;
};

}  // namespace overdue
