#include "resolve/kept_files.h"

#include <sys/stat.h>

namespace overdue {

std::shared_ptr<ProcessImage::KeptFile> KeptFiles::keep(Fd fd) {
  struct stat status{};
  if (!fd || most_ == 0 || fstat(fd.get(), &status) != 0) return nullptr;
  const Key key(status.st_dev, status.st_ino);
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    if (auto file = known->second->file.lock()) {
      order_.splice(order_.begin(), order_, known->second);
      return file;
    }
    close(known->second);
  }
  while (order_.size() >= most_) close(std::prev(order_.end()));
  auto file = std::make_shared<ProcessImage::KeptFile>();
  file->fd = std::move(fd);
  order_.push_front({key, file});
  by_key_[key] = order_.begin();
  return file;
}

void KeptFiles::close(std::list<Kept>::iterator kept) {
  if (const auto file = kept->file.lock()) file->fd.reset();
  by_key_.erase(kept->key);
  order_.erase(kept);
}

}  // namespace overdue
