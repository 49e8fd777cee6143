#include "symbols/symbolizer.h"

#include <unistd.h>

#include <lzma.h>

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/thread_rights.h"
#include "symbols/demangle.h"
#include "symbols/open_file.h"
#include "symbols/vdso.h"

namespace overdue {
namespace {

constexpr std::uint64_t no_file = 0;
constexpr std::uint64_t vdso_device = ~std::uint64_t{0};  // no device number, which has 32 bits

}  // namespace

Fd open_debug_file(pid_t pid, const std::string& path) {
  const ReadRights rights;
  Fd file = open_regular_in(open_root_of(getpid()), getpid(), path, SymbolicLinks::followed);
  if (file) return file;
  const Fd root = open_root_of(pid);
  return root ? open_regular_in(root, pid, path, SymbolicLinks::followed) : Fd();
}

bool may_hold_made_code(const Mapping& mapping) {
  return mapping.path.empty() || mapping.path.starts_with("[anon") ||
         mapping.path.starts_with("/memfd:") || mapping.path.starts_with("/dev/zero") ||
         mapping.path.starts_with("/SYSV");
}

std::string to_text(const Frame& frame) {
  if (!frame.symbol.empty()) return frame.symbol;
  if (frame.module.empty()) return "[unknown]";
  std::string_view name = frame.module;
  if (name.starts_with('['))
    name = name.substr(1, name.size() - (name.ends_with(']') ? 2 : 1));
  else if (const std::size_t slash = name.rfind('/'); slash + 1 < name.size())
    name = name.substr(slash + 1);
  return fmt::format("[{}+{:#x}]", name, frame.offset);
}

Process::Process(pid_t pid, ProcessMaps maps, PerfMap perf_map)
    : pid_(pid), maps_(std::move(maps)), perf_map_(std::move(perf_map)) {}

std::optional<Process> Process::read(pid_t pid) {
  auto maps = ProcessMaps::read(pid);
  if (!maps) return std::nullopt;
  return Process(pid, std::move(*maps), PerfMap::read(pid));
}

Symbolizer::Symbolizer(KernelSymbols kernel) : Symbolizer(std::move(kernel), Options()) {}

Symbolizer::Symbolizer(KernelSymbols kernel, Options options)
    : kernel_(std::move(kernel)), options_(std::move(options)) {
  if (!options_.open_mapped) options_.open_mapped = open_mapped_file;
  if (!options_.open_debug_file) options_.open_debug_file = open_debug_file;
  if (!options_.read_vdso) options_.read_vdso = read_vdso;
}

Frame Symbolizer::kernel_frame(std::uint64_t address, AddressKind kind) const {
  const std::uint64_t back = kind == AddressKind::return_address && address > 0 ? 1 : 0;
  const auto found = kernel_.find(address - back);
  if (!found) return {.offset = address, .module = "[kernel]"};
  return {
      .symbol = printable(found->symbol.name),
      .offset = found->symbol.offset + back,
      .module = fmt::format("[{}]", found->module.empty() ? "kernel" : printable(found->module))};
}

Frame Symbolizer::user_frame(Process& process, std::uint64_t address, AddressKind kind) {
  const std::uint64_t back = kind == AddressKind::return_address && address > 0 ? 1 : 0;
  const std::uint64_t instruction = address - back;
  const Mapping* mapping = process.maps().find(instruction);
  if (!mapping) return {.offset = address};

  const auto named = [&](Frame frame, const SymbolOffset& symbol) {
    frame.symbol = demangle(symbol.name);
    frame.offset = symbol.offset + back;
    return frame;
  };
  if (may_hold_made_code(*mapping))
    if (const auto symbol = process.perf_map().find(instruction))
      return named({.module = "[jit]"}, *symbol);

  Frame frame{.offset = address - mapping->start + mapping->file_offset,
              .module = mapping->path.empty() ? "[anon]" : printable(mapping->path)};
  const ElfSymbols* file = file_of(process, *mapping);
  if (!file) return frame;
  frame.build_id = file->build_id();
  const auto code = file->address_of(instruction - mapping->start + mapping->file_offset);
  frame.code = code;
  const auto symbol = code ? file->find(*code) : std::nullopt;
  return symbol ? named(std::move(frame), *symbol) : frame;
}

// Called for each address, so the process remembers the file of each of its mappings: by an id that
// is never reused, because the file may have been evicted meanwhile.
const ElfSymbols* Symbolizer::file_of(Process& process, const Mapping& mapping) {
  const auto known = process.files_.find(mapping.start);
  if (known != process.files_.end()) {
    if (known->second == no_file) return nullptr;
    const auto found = by_id_.find(known->second);
    if (found != by_id_.end()) {
      files_.splice(files_.begin(), files_, found->second);
      return &found->second->symbols;
    }
  }
  const File* file =
      mapping.path == "[vdso]" ? load_vdso(process, mapping) : load(process, mapping);
  process.files_[mapping.start] = file ? file->id : no_file;
  return file ? &file->symbols : nullptr;
}

const Symbolizer::File* Symbolizer::load(const Process& process, const Mapping& mapping) {
  if (!mapping.is_file()) return nullptr;
  Fd opened = options_.open_mapped(process.pid(), mapping);
  const auto key = FileKey::of(opened);
  if (!key) return nullptr;
  if (const File* file = cached(*key)) return file;
  const auto open = [&](const std::string& path) {
    return options_.open_debug_file(process.pid(), path);
  };
  const FileBytes bytes(std::move(opened));
  return keep(*key, ElfSymbols(bytes, open, std::string(mapping.path), options_.limits));
}

// All processes of one kind have the same [vdso], so its content is its key.
const Symbolizer::File* Symbolizer::load_vdso(const Process& process, const Mapping& mapping) {
  const std::vector<std::byte> bytes = options_.read_vdso(process.pid(), mapping);
  if (bytes.empty()) return nullptr;
  const FileKey key{
      .device = vdso_device,
      .inode = lzma_crc64(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), 0),
      .size = bytes.size(),
      .change_seconds = 0,
      .change_nanoseconds = 0};
  if (const File* file = cached(key)) return file;
  return keep(key, ElfSymbols(FileBytes(bytes), {}, {}, options_.limits));
}

const Symbolizer::File* Symbolizer::cached(const FileKey& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  files_.splice(files_.begin(), files_, found->second);
  return &*found->second;
}

const Symbolizer::File* Symbolizer::keep(const FileKey& key, ElfSymbols symbols) {
  const std::size_t bytes = symbols.memory_bytes();
  files_.push_front({++last_id_, key, std::move(symbols), bytes});
  by_key_[key] = files_.begin();
  by_id_[last_id_] = files_.begin();
  ++cost_.loads;
  cost_.bytes += bytes;
  while (files_.size() > 1 &&
         (cost_.bytes > options_.cache_bytes || files_.size() > options_.cache_files)) {
    const File& oldest = files_.back();
    cost_.bytes -= oldest.bytes;
    by_key_.erase(oldest.key);
    by_id_.erase(oldest.id);
    files_.pop_back();
    ++cost_.evictions;
  }
  cost_.files = files_.size();
  return &files_.front();
}

}  // namespace overdue
