#include "resolve/line_reader.h"

#include <string>
#include <utility>

#include "symbols/debug_file.h"

namespace overdue {

std::vector<SourceLine> LineReader::find(const Mapping& mapping, std::uint64_t code) {
  File* file = file_of(mapping);
  return file ? file->lines.find(code - file->bias) : std::vector<SourceLine>();
}

LineReader::File* LineReader::file_of(const Mapping& mapping) {
  if (!mapping.is_file()) return nullptr;
  Fd opened = files_.mapped_file(mapping);
  const auto key = FileKey::of(opened);
  if (!key) return nullptr;
  if (const auto known = by_key_.find(*key); known != by_key_.end()) {
    order_.splice(order_.begin(), order_, known->second);
    return &*known->second;
  }
  order_.push_front(read(*key, std::move(opened), mapping));
  by_key_[*key] = order_.begin();
  bytes_ += order_.front().bytes;
  while (order_.size() > 1 &&
         (bytes_ > options_.cache_bytes || order_.size() > options_.cache_files)) {
    bytes_ -= order_.back().bytes;
    by_key_.erase(order_.back().key);
    order_.pop_back();
  }
  return &order_.front();
}

LineReader::File LineReader::read(const FileKey& key, Fd file, const Mapping& mapping) {
  const OpenFile open = [this](const std::string& path) { return files_.debug_file(path); };
  auto found = find_debug_info(std::move(file), open, std::string(mapping.path));
  SourceLines lines(found ? std::move(found->file) : Fd(), options_.limits);
  const std::size_t bytes = lines.memory_bytes();
  return {.key = key, .lines = std::move(lines), .bias = found ? found->bias : 0, .bytes = bytes};
}

}  // namespace overdue
