#include "cli/file_names.h"

#include <fmt/format.h>

#include "symbols/demangle.h"
#include "symbols/open_file.h"

namespace overdue {
namespace {

constexpr std::size_t most_named_files = 1024;

ElfSymbols read_symbols(const std::string& path, const std::string& build_id) {
  Fd file = open_regular(path);
  if (!file) return {};
  ElfSymbols symbols(FileBytes(std::move(file)), open_regular, path);
  return symbols.build_id() == build_id ? std::move(symbols) : ElfSymbols();
}

}  // namespace

const ElfSymbols& FileNames::symbols_of(const StackFrame& frame) {
  const auto [found, is_new] = files_.try_emplace(frame.build_id);
  if (is_new) {
    found->second = read_symbols(frame.module, frame.build_id);
    if (!found->second.is_elf())
      found->second =
          read_symbols(fmt::format("/usr/lib/debug/.build-id/{}/{}.debug",
                                   frame.build_id.substr(0, 2), frame.build_id.substr(2)),
                       frame.build_id);
  }
  return found->second;
}

void FileNames::name(StackFrame& frame) {
  if (!is_build_id(frame.build_id) || files_.size() > most_named_files) return;
  const ElfSymbols& symbols = symbols_of(frame);
  const auto address = symbols.address_of(frame.offset);
  if (!address) return;
  // A return address may be the first of the next function.
  const auto found = symbols.find(*address > 0 ? *address - 1 : 0);
  if (!found) return;
  frame.name = demangle(found->name);
  frame.offset = found->offset + 1;
}

}  // namespace overdue
