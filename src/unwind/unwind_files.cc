// The tables of files that the Unwinder keeps.

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "symbols/vdso.h"
#include "unwind/unwinder.h"

namespace overdue {
namespace {

constexpr std::uint64_t vdso_device = ~std::uint64_t{0};  // no device number, which has 32 bits
constexpr std::size_t cached_rows = 1024;                 // a power of two

std::size_t slot_of(std::uint64_t file, std::uint64_t address) {
  return ((address ^ file << 32) * 0x9e3779b97f4a7c15u >> 40) % cached_rows;
}

}  // namespace

Unwinder::Unwinder(Options options) : options_(std::move(options)), rows_(cached_rows) {
  if (!options_.open_mapped) options_.open_mapped = open_mapped_file;
  if (!options_.read_vdso) options_.read_vdso = read_vdso;
}

std::optional<Unwinder::Found> Unwinder::row_of(AddressSpace& space, std::uint64_t pc) {
  const Mapping* mapping = space.maps().find(pc);
  if (!mapping || !mapping->is_executable) return std::nullopt;
  const File* file = file_of(space, *mapping);
  if (!file) return std::nullopt;
  const auto address = file->table.address_of(pc - mapping->start + mapping->file_offset);
  if (!address) return std::nullopt;
  CachedRow& slot = rows_[slot_of(file->id, *address)];
  if (slot.file != file->id || slot.address != *address) {
    const auto row = file->table.find(*address);
    slot = {.file = file->id,
            .address = *address,
            .has_row = row.has_value(),
            .row = row.value_or(CfiRow())};
  }
  if (!slot.has_row) return std::nullopt;
  return Found{.table = &file->table, .row = &slot.row};
}

// Called for each frame, so the address space remembers the file of each of its mappings: by an id
// that is never reused, because the file may have been evicted meanwhile.
const Unwinder::File* Unwinder::file_of(AddressSpace& space, const Mapping& mapping) {
  std::uint64_t& known =
      space.files_[static_cast<std::size_t>(&mapping - space.maps().all().data())];
  if (known == AddressSpace::no_file) return nullptr;
  const auto found = by_id_.find(known);
  if (found != by_id_.end()) {
    files_.splice(files_.begin(), files_, found->second);
    return &*found->second;
  }
  const File* file = mapping.path == "[vdso]" ? load_vdso(space, mapping) : load(space, mapping);
  known = file ? file->id : AddressSpace::no_file;
  return file;
}

const Unwinder::File* Unwinder::load(const AddressSpace& space, const Mapping& mapping) {
  if (!mapping.is_file()) return nullptr;
  Fd opened = options_.open_mapped(space.pid(), mapping);
  const auto key = FileKey::of(opened);
  if (!key) return nullptr;
  if (const File* file = cached(*key)) return file;
  return keep(*key, CfiTable(FileBytes(std::move(opened)), options_.limits));
}

// All processes of one kind have the same [vdso], so its content is its key.
const Unwinder::File* Unwinder::load_vdso(const AddressSpace& space, const Mapping& mapping) {
  const std::vector<std::byte> bytes = options_.read_vdso(space.pid(), mapping);
  if (bytes.empty()) return nullptr;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const FileKey key{.device = vdso_device,
                    .inode = std::hash<std::string_view>()(text),
                    .size = bytes.size(),
                    .change_seconds = 0,
                    .change_nanoseconds = 0};
  if (const File* file = cached(key)) return file;
  return keep(key, CfiTable(FileBytes(bytes), options_.limits));
}

const Unwinder::File* Unwinder::cached(const FileKey& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  files_.splice(files_.begin(), files_, found->second);
  return &*found->second;
}

const Unwinder::File* Unwinder::keep(const FileKey& key, CfiTable table) {
  const std::size_t bytes = table.memory_bytes();
  files_.push_front({.id = ++last_id_, .key = key, .table = std::move(table), .bytes = bytes});
  by_key_[key] = files_.begin();
  by_id_[last_id_] = files_.begin();
  bytes_ += bytes;
  while (files_.size() > 1 &&
         (bytes_ > options_.cache_bytes || files_.size() > options_.cache_files)) {
    const File& last = files_.back();
    bytes_ -= last.bytes;
    by_key_.erase(last.key);
    by_id_.erase(last.id);
    files_.pop_back();
  }
  return &files_.front();
}

std::vector<std::byte> Unwinder::code_at(const AddressSpace& space, std::uint64_t pc,
                                         std::size_t size) {
  const Mapping* mapping = space.maps().find(pc);
  if (!mapping || !mapping->is_file()) return {};
  const FileBytes bytes(options_.open_mapped(space.pid(), *mapping));
  return bytes
      .read(pc - mapping->start + mapping->file_offset,
            std::min<std::uint64_t>(size, mapping->end - pc), size)
      .value_or(std::vector<std::byte>());
}

}  // namespace overdue
