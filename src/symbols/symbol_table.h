#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace overdue {

/// A place in code: `offset` bytes into the symbol `name`. The view lives as long as the table it
/// came from.
struct SymbolOffset {
  std::string_view name;
  std::uint64_t offset = 0;
};

/// Addresses and their names, from kallsyms, an ELF file or a perf map. Compact (20 bytes a symbol,
/// and one pool of names) and immutable; any thread may look symbols up.
class SymbolTable {
 public:
  SymbolTable() = default;

  /// Nothing if no symbol covers the address.
  std::optional<SymbolOffset> find(std::uint64_t address) const;

  /// The number of named pieces of address space: a symbol inside another makes three pieces of two
  /// symbols.
  std::size_t size() const { return begins_.size(); }
  std::size_t memory_bytes() const;

 private:
  friend class SymbolTableBuilder;
  struct Piece {
    std::uint32_t length;
    std::uint32_t name;    // offset in names_
    std::uint32_t offset;  // offset of the piece in its symbol
  };
  std::vector<std::uint64_t> begins_;  // apart from the pieces: the search reads dense memory
  std::vector<Piece> pieces_;
  std::vector<char> names_;  // each ends with NUL
};

/// The visibility of a symbol; the wider, the greater.
enum class Binding : std::uint8_t { local, weak, global };

/// Collects symbols, in any order, then makes a table of them.
class SymbolTableBuilder {
 public:
  /// The name for an address inside several symbols. `inner`: the symbol that begins nearest before
  /// the address. Of symbols that begin at the same address, these are preferred, in this order: a
  /// size over none, a function over a label, visible (global or weak) over local, fewer leading
  /// underscores, global over weak, the longer name, the first in byte order. `later`: the symbol
  /// that was added last, because memory is reused.
  enum class Overlap { inner, later };

  /// Symbols beyond `most` symbols or `name_bytes` bytes of names are dropped, and counted.
  SymbolTableBuilder(Overlap overlap, std::size_t most, std::size_t name_bytes);

  /// Room for so many symbols and bytes of names: memory that grows is copied again and again.
  void reserve(std::size_t symbols, std::size_t name_bytes);

  struct Symbol {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;   ///< 0: unknown; the symbol then extends to the next one
    std::uint64_t bound = 0;  ///< latest end of a symbol of unknown size
    std::string_view name;    ///< copied, up to its first NUL and at most `longest_name`
    Binding binding = Binding::global;
    bool is_label = false;  ///< of unknown type: usually, but not surely, a function
  };
  void add(const Symbol& symbol);
  /// Something without a name begins here: symbols of unknown size end here.
  void add_boundary(std::uint64_t address);

  std::size_t dropped() const { return dropped_; }
  SymbolTable build() &&;

  static constexpr std::size_t longest_name = 32u << 10;

 private:
  struct Entry {
    std::uint64_t begin, end;
    std::uint32_t name;
    Binding binding;
    bool is_label, is_sized, is_boundary;
  };
  std::string_view name_of(const Entry& entry) const { return names_.data() + entry.name; }
  bool is_worse(const Entry& a, const Entry& b) const;
  void end_unsized();
  void flatten(SymbolTable& table);
  void emit(SymbolTable& table, std::uint64_t begin, std::uint64_t end, std::size_t index);

  Overlap overlap_;
  std::size_t most_, name_bytes_;
  std::size_t dropped_ = 0;
  std::vector<Entry> entries_;
  std::vector<char> names_;
  std::vector<std::uint32_t> kept_names_;  // by entry: offset in the table's pool, or not_kept
  std::size_t last_emitted_ = 0;
};

}  // namespace overdue
