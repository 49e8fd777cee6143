// Any bytes, read as a source of symbols: an ELF file (and its own debug file), a perf map, the
// maps of a process, kallsyms, a mangled name. No crash, no leak, no name outside its table,
// bounded memory.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "base/text.h"
#include "symbols/demangle.h"
#include "symbols/elf_events.h"
#include "symbols/elf_symbols.h"
#include "symbols/kernel_symbols.h"
#include "symbols/perf_map.h"
#include "symbols/process_maps.h"

namespace overdue {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view name) {
  require(!name.empty() && name.size() <= SymbolTableBuilder::longest_name);
  require(name.find('\0') == std::string_view::npos);
  require(!demangle(name).empty());
}

// Looks up addresses that are likely to exist: the input's own words, and their neighbours.
template <typename Look>
void for_addresses(std::span<const std::byte> input, Look look) {
  for (std::size_t at = 0; at + 8 <= input.size() && at < 4096; at += 4) {
    std::uint64_t address;
    std::memcpy(&address, input.data() + at, sizeof address);
    look(address);
    look(address & 0xffffffff);
    look((address & 0xffffffff) + 1);
  }
}

void read_elf(std::span<const std::byte> input) {
  // Every debug file that the reader asks for is the input itself.
  const auto open = [&](const std::string& path) {
    require(path.starts_with('/') && path.find('\0') == std::string::npos);
    Fd file(memfd_create("debug", MFD_CLOEXEC));
    require(write(file.get(), input.data(), input.size()) == static_cast<ssize_t>(input.size()));
    return file;
  };
  const ElfSymbols symbols(FileBytes(input), open, "/folder/file", {.debugdata_bytes = 1u << 20});
  require(symbols.build_id().size() <= 128);
  require(symbols.memory_bytes() < 64u << 20);
  require(find_function(FileBytes(input), "main").nearest.size() < input.size());
  for (const EventSite& site : find_usdt(FileBytes(input), "libstdcxx", "throw").sites)
    require(site.offset < input.size());
  for_addresses(input, [&](std::uint64_t address) {
    if (const auto found = symbols.find(address)) check(found->name);
    const auto code = symbols.address_of(address);
    if (code && symbols.find(*code)) check(symbols.find(*code)->name);
    symbols.file_offset_of(address);
  });
}

void read_text(std::string_view text, std::span<const std::byte> input) {
  const PerfMap perf_map = PerfMap::parse(text);
  const KernelSymbols kernel = KernelSymbols::parse(text);
  const ProcessMaps maps = ProcessMaps::parse(text);
  const Mapping* last = nullptr;
  for (const Mapping& mapping : maps.all()) {
    require(mapping.start < mapping.end && (!last || last->end <= mapping.start));
    require(maps.find(mapping.start) == &mapping && maps.find(mapping.end - 1) == &mapping);
    last = &mapping;
  }
  for (std::size_t at = 0; at < text.size() && at < 4096; ++at) {
    const std::uint64_t address =
        std::strtoull(std::string(text.substr(at, 17)).c_str(), nullptr, 16);
    if (const auto found = perf_map.find(address)) check(found->name);
    if (const auto found = kernel.find(address)) check(found->symbol.name);
  }
  for_addresses(input, [&](std::uint64_t address) {
    if (const auto found = kernel.find(address)) check(found->symbol.name);
  });
  const std::string name = demangle(text);
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t length = printable_length(rest);
    require(length > 0);
    rest.remove_prefix(length);
  }
}

}  // namespace
}  // namespace overdue

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  if (size > 4 && std::memcmp(data,
                              "\x7f"
                              "ELF",
                              4) == 0)
    overdue::read_elf(input);
  else
    overdue::read_text({reinterpret_cast<const char*>(data), size}, input);
  return 0;
}
