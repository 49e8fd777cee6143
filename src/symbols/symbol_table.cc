#include "symbols/symbol_table.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace overdue {
namespace {

constexpr std::uint32_t not_kept = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t longest_symbol = std::numeric_limits<std::uint32_t>::max();

std::uint64_t end_of(std::uint64_t begin, std::uint64_t size) {
  return begin +
         std::min({size, longest_symbol, std::numeric_limits<std::uint64_t>::max() - begin});
}

std::size_t leading_underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

/// Gives unused memory back, unless there is little: what is used is copied.
template <typename T>
void trim(std::vector<T>& list) {
  if (list.capacity() - list.size() > list.size() / 8) list.shrink_to_fit();
}

}  // namespace

std::optional<SymbolOffset> SymbolTable::find(std::uint64_t address) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), address);
  if (after == begins_.begin()) return std::nullopt;
  const std::size_t index = static_cast<std::size_t>(after - begins_.begin()) - 1;
  const Piece& piece = pieces_[index];
  const std::uint64_t inside = address - begins_[index];
  if (inside >= piece.length) return std::nullopt;
  return SymbolOffset{names_.data() + piece.name, inside + piece.offset};
}

std::size_t SymbolTable::memory_bytes() const {
  return sizeof *this + begins_.capacity() * sizeof begins_[0] +
         pieces_.capacity() * sizeof(Piece) + names_.capacity();
}

SymbolTableBuilder::SymbolTableBuilder(Overlap overlap, std::size_t most, std::size_t name_bytes)
    : overlap_(overlap),
      most_(std::min<std::size_t>(most, not_kept)),
      name_bytes_(std::min<std::size_t>(name_bytes, not_kept)) {}

void SymbolTableBuilder::reserve(std::size_t symbols, std::size_t name_bytes) {
  entries_.reserve(std::min(symbols, most_));
  names_.reserve(std::min(name_bytes, name_bytes_));
}

void SymbolTableBuilder::add(const Symbol& symbol) {
  std::string_view name = symbol.name.substr(0, longest_name);
  name = name.substr(0, name.find('\0'));
  if (entries_.size() >= most_ || name_bytes_ - names_.size() <= name.size()) {
    ++dropped_;
    return;
  }
  if (name.empty()) return;
  entries_.push_back({.begin = symbol.begin,
                      .end = symbol.size > 0 ? end_of(symbol.begin, symbol.size) : symbol.bound,
                      .name = static_cast<std::uint32_t>(names_.size()),
                      .binding = symbol.binding,
                      .is_label = symbol.is_label,
                      .is_sized = symbol.size > 0,
                      .is_boundary = false});
  names_.insert(names_.end(), name.begin(), name.end());
  names_.push_back('\0');
}

void SymbolTableBuilder::add_boundary(std::uint64_t address) {
  if (entries_.size() >= most_) return;
  entries_.push_back({.begin = address,
                      .end = address,
                      .name = 0,
                      .binding = Binding::local,
                      .is_label = true,
                      .is_sized = true,
                      .is_boundary = true});
}

bool SymbolTableBuilder::is_worse(const Entry& a, const Entry& b) const {
  if (a.begin != b.begin) return a.begin < b.begin;
  if (a.is_boundary || b.is_boundary) return a.is_boundary && !b.is_boundary;
  const auto surely = [](const Entry& entry) {
    return std::tuple(entry.is_sized, !entry.is_label, entry.binding != Binding::local);
  };
  if (surely(a) != surely(b)) return surely(a) < surely(b);
  const std::string_view name_a = name_of(a), name_b = name_of(b);
  const auto by_name = [](const Entry& entry, std::string_view name) {
    return std::tuple(-static_cast<std::ptrdiff_t>(leading_underscores(name)), entry.binding,
                      name.size());
  };
  if (by_name(a, name_a) != by_name(b, name_b)) return by_name(a, name_a) < by_name(b, name_b);
  if (const int order = name_a.compare(name_b); order != 0) return order > 0;
  // The same symbol in two tables (.symtab and .dynsym): only the sizes can differ.
  return a.end < b.end;
}

// From the last to the first, so that the next address is known.
void SymbolTableBuilder::end_unsized() {
  std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = entries_.size(); i-- > 0;) {
    if (i + 1 < entries_.size() && entries_[i + 1].begin != entries_[i].begin)
      next = entries_[i + 1].begin;
    Entry& entry = entries_[i];
    if (!entry.is_sized)
      entry.end =
          end_of(entry.begin, std::max(std::min(next, entry.end), entry.begin) - entry.begin);
  }
  std::erase_if(entries_, [](const Entry& entry) { return entry.end <= entry.begin; });
}

SymbolTable SymbolTableBuilder::build() && {
  if (overlap_ == Overlap::inner) {
    std::sort(entries_.begin(), entries_.end(),
              [&](const Entry& a, const Entry& b) { return is_worse(a, b); });
  } else {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::tuple(a.begin, a.name) < std::tuple(b.begin, b.name);
    });
  }
  end_unsized();
  SymbolTable table;
  flatten(table);
  trim(table.begins_);
  trim(table.pieces_);
  trim(table.names_);
  return table;
}

// Sweeps over the addresses; the best of the open symbols names the next piece. Entries are sorted
// by begin; those with the same begin are sorted from worst to best. With `inner`, the greatest
// index is therefore the best. With `later`, it is the greatest name, because names were pooled in
// the order of add().
void SymbolTableBuilder::flatten(SymbolTable& table) {
  kept_names_.assign(entries_.size(), not_kept);
  table.begins_.reserve(entries_.size());
  table.pieces_.reserve(entries_.size());
  table.names_.reserve(names_.size());
  const auto rank = [&](std::size_t index) {
    return overlap_ == Overlap::inner ? index : entries_[index].name;
  };
  const auto is_lower = [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(is_lower)> open(is_lower);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i <= entries_.size(); ++i) {
    const std::uint64_t next =
        i < entries_.size() ? entries_[i].begin : std::numeric_limits<std::uint64_t>::max();
    while (!open.empty() && at < next) {
      const std::uint64_t end = std::min(entries_[open.top()].end, next);
      if (end <= at) {
        open.pop();
        continue;
      }
      emit(table, at, end, open.top());
      at = end;
    }
    at = next;
    if (i < entries_.size()) open.push(i);
  }
}

void SymbolTableBuilder::emit(SymbolTable& table, std::uint64_t begin, std::uint64_t end,
                              std::size_t index) {
  const auto length = static_cast<std::uint32_t>(end - begin);
  if (!table.pieces_.empty() && last_emitted_ == index &&
      table.begins_.back() + table.pieces_.back().length == begin) {
    table.pieces_.back().length += length;
    return;
  }
  const Entry& entry = entries_[index];
  if (kept_names_[index] == not_kept) {
    const std::string_view name = name_of(entry);
    kept_names_[index] = static_cast<std::uint32_t>(table.names_.size());
    table.names_.insert(table.names_.end(), name.begin(), name.end());
    table.names_.push_back('\0');
  }
  table.begins_.push_back(begin);
  table.pieces_.push_back({.length = length,
                           .name = kept_names_[index],
                           .offset = static_cast<std::uint32_t>(begin - entry.begin)});
  last_emitted_ = index;
}

}  // namespace overdue
