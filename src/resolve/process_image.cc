#include "resolve/process_image.h"

#include <algorithm>
#include <utility>

namespace overdue {
namespace {

std::uint64_t end_of(const ProcessImage::Entry& entry) {
  return entry.mapping.end;
}

}  // namespace

ProcessImage::ProcessImage(pid_t pid, const ProcessMaps& maps, KernelTime read_at) : pid_(pid) {
  for (const Mapping& mapping : maps.all())
    if (mapping.is_executable) add(mapping, read_at);
  is_cut_ |= maps.is_cut();
}

const ProcessImage::Entry* ProcessImage::find(std::uint64_t address) const {
  const auto found = std::ranges::upper_bound(entries_, address, {}, end_of);
  return found != entries_.end() && found->mapping.start <= address ? &*found : nullptr;
}

bool ProcessImage::has(const Mapping& mapping) const {
  const Entry* entry = find(mapping.start);
  if (!entry) return false;
  const Mapping& known = entry->mapping;
  return known.start == mapping.start && known.end == mapping.end &&
         known.file_offset == mapping.file_offset && known.inode == mapping.inode &&
         known.device_major == mapping.device_major && known.device_minor == mapping.device_minor &&
         known.path == mapping.path;
}

bool ProcessImage::changes_names(const Mapping& mapping) const {
  for (auto at = std::ranges::upper_bound(entries_, mapping.start, {}, end_of);
       at != entries_.end() && at->mapping.start < mapping.end; ++at)
    if (mapping.is_file() || at->mapping.is_file()) return true;
  return false;
}

void ProcessImage::keep_common(const ProcessImage& other) {
  std::erase_if(entries_, [&](const Entry& entry) { return !other.has(entry.mapping); });
}

ProcessImage::Entry* ProcessImage::add(const Mapping& mapping, KernelTime known_at,
                                       std::string build_id, std::uint64_t inode_generation) {
  if (mapping.start >= mapping.end) return nullptr;
  make_room(mapping.start, mapping.end);
  if (entries_.size() >= max_mappings) {
    is_cut_ = true;
    return nullptr;
  }
  const auto at = std::ranges::upper_bound(entries_, mapping.start, {}, end_of);
  const auto entry = entries_.insert(at, {mapping,
                                          std::make_shared<const std::string>(mapping.path),
                                          std::move(build_id),
                                          known_at,
                                          inode_generation,
                                          {}});
  entry->mapping.path = *entry->path;
  return &*entry;
}

void ProcessImage::make_room(std::uint64_t start, std::uint64_t end) {
  auto at = std::ranges::upper_bound(entries_, start, {}, end_of);
  while (at != entries_.end() && at->mapping.start < end) {
    Mapping& old = at->mapping;
    const bool has_front = old.start<start, has_back = old.end> end;
    if (has_front && has_back) {
      Entry back = *at;
      back.mapping.file_offset += end - back.mapping.start;
      back.mapping.start = end;
      old.end = start;
      entries_.insert(at + 1, std::move(back));
      return;
    }
    if (has_front) {
      old.end = start;
      ++at;
    } else if (has_back) {
      old.file_offset += end - old.start;
      old.start = end;
      return;
    } else {
      at = entries_.erase(at);
    }
  }
}

}  // namespace overdue
