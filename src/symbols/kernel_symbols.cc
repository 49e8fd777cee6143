#include "symbols/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace overdue {
namespace {

constexpr std::uint64_t longest_function = 256u << 10;
constexpr std::size_t max_kernel_symbols = 4u << 20;
constexpr std::size_t max_name_bytes = 256u << 20;
// Memory that is not used costs nothing: the kernel gives it at the first use.
constexpr std::size_t usual_symbols = 512u << 10;
constexpr std::size_t usual_name_bytes = 16u << 20;
constexpr std::size_t max_modules = 1u
                                    << 20;  // each BPF program and trampoline is of a module [bpf]

/// Cheaper than a search for a set of characters: there are a million words.
std::string_view next_word(std::string_view& line) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  std::size_t begin = 0;
  while (begin < line.size() && is_space(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && !is_space(line[end])) ++end;
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

/// Whether a symbol marks the begin or end of a part of the kernel's text, by the kernel's linker
/// script (include/asm-generic/vmlinux.lds.h). The mark is no function, though a function may have
/// its address.
bool is_mark(std::string_view name) {
  return name == "_etext" || name == "_einittext" || name.ends_with("_text_start") ||
         name.ends_with("_text_end");
}

}  // namespace

/// Parses kallsyms line by line, so that the whole text is never in memory.
class KallsymsParser {
 public:
  void expect_a_kernel() {
    builder_.reserve(usual_symbols, usual_name_bytes);
    symbols_.runs_.reserve(usual_symbols);
  }

  void line(std::string_view line) {
    if (line.empty()) return;
    std::uint64_t address = 0;
    const std::string_view digits = next_word(line);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), address, 16);
    const std::string_view type = next_word(line);
    const std::string_view name = next_word(line);
    std::string_view module = next_word(line);
    if (error != std::errc{} || end != digits.data() + digits.size() || type.size() != 1 ||
        name.empty()) {
      ++symbols_.malformed_;
      return;
    }
    if (module.size() >= 2 && module.front() == '[' && module.back() == ']')
      module = module.substr(1, module.size() - 2);
    ++lines_;
    if (address == 0) return;  // a per-CPU offset, or hidden
    add(address, type[0], name, module);
  }

  KernelSymbols finish() && {
    symbols_.hidden_ = lines_ > 0 && !any_address_;
    // A run ends where another module begins.
    std::sort(symbols_.runs_.begin(), symbols_.runs_.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.begin, a.module) < std::tuple(b.begin, b.module);
    });
    std::vector<KernelSymbols::Run> runs;
    for (std::size_t i = 0; i < symbols_.runs_.size(); ++i) {
      if (!runs.empty() && runs.back().module == symbols_.runs_[i].module) continue;
      runs.push_back(symbols_.runs_[i]);
    }
    symbols_.runs_ = std::move(runs);
    symbols_.table_ = std::move(builder_).build();
    return std::move(symbols_);
  }

 private:
  void add(std::uint64_t address, char type, std::string_view name, std::string_view module) {
    any_address_ = true;
    const bool is_code = type == 'T' || type == 't' || type == 'W' || type == 'w';
    if (!is_code || is_mark(name)) return builder_.add_boundary(address);
    const std::uint32_t index = module_index(module);
    symbols_.runs_.push_back({.begin = address, .module = index});
    builder_.add({.begin = address,
                  .bound = address + std::min(longest_function, ~address),
                  .name = name,
                  .binding = type == 'T'   ? Binding::global
                             : type == 't' ? Binding::local
                                           : Binding::weak});
  }

  std::uint32_t module_index(std::string_view module) {
    if (symbols_.modules_.empty()) symbols_.modules_.emplace_back();  // index 0: the kernel itself
    if (module.empty()) return 0;
    const auto known = by_name_.find(std::string(module));
    if (known != by_name_.end()) return known->second;
    if (symbols_.modules_.size() >= max_modules) return 0;
    const auto index = static_cast<std::uint32_t>(symbols_.modules_.size());
    symbols_.modules_.emplace_back(module);
    by_name_.emplace(module, index);
    return index;
  }

  KernelSymbols symbols_;
  SymbolTableBuilder builder_{SymbolTableBuilder::Overlap::inner, max_kernel_symbols,
                              max_name_bytes};
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::size_t lines_ = 0;
  bool any_address_ = false;
};

KernelSymbols KernelSymbols::parse(std::string_view text) {
  KallsymsParser parser;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(parser).finish();
}

KernelSymbols KernelSymbols::read(const std::string& path) {
  const Fd file(check_errno(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "cannot read {}", path));
  KallsymsParser parser;
  parser.expect_a_kernel();
  std::vector<char> text(256u << 10);
  std::size_t filled = 0;  // of these: the begin of a line
  while (true) {
    const std::span<char> room = std::span(text).subspan(filled);
    if (room.empty()) throw Error("cannot read {}: not a list of symbols", path);
    const ssize_t got = ::read(file.get(), room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    filled += static_cast<std::size_t>(check_errno(static_cast<int>(got), "cannot read {}", path));
    const std::string_view lines(text.data(), filled);
    if (got == 0) {
      parser.line(lines);
      return std::move(parser).finish();
    }
    std::size_t begin = 0;
    for (std::size_t end; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1)
      parser.line(lines.substr(begin, end - begin));
    std::copy(text.begin() + static_cast<std::ptrdiff_t>(begin),
              text.begin() + static_cast<std::ptrdiff_t>(filled), text.begin());
    filled -= begin;
  }
}

std::optional<KernelSymbols::Found> KernelSymbols::find(std::uint64_t address) const {
  const auto symbol = table_.find(address);
  if (!symbol) return std::nullopt;
  const std::uint64_t begin = address - symbol->offset;
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), begin,
                       [](std::uint64_t at, const Run& run) { return at < run.begin; });
  const std::string_view module = after == runs_.begin()
                                      ? std::string_view()
                                      : std::string_view(modules_[std::prev(after)->module]);
  return Found{*symbol, module};
}

std::size_t KernelSymbols::memory_bytes() const {
  std::size_t bytes = table_.memory_bytes() + runs_.capacity() * sizeof(Run);
  for (const std::string& module : modules_) bytes += sizeof(std::string) + module.capacity();
  return bytes;
}

}  // namespace overdue
