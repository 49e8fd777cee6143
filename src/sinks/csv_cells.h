#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/record.h"
#include "sinks/escape.h"

namespace overdue {

/// Fields of one record, kept until the sink knows whether the header fits. Reused: a long stream
/// of one kind of record allocates nothing.
class CsvCells : public FieldVisitor {
 public:
  void clear() { used_ = 0; }

  void number(std::string_view name, std::uint64_t value, Unit) override {
    const fmt::format_int digits(value);
    next(name).value.append(digits.data(), digits.size());
  }
  void result(std::string_view name, std::int64_t value, std::string_view) override {
    const fmt::format_int digits(value);
    next(name).value.append(digits.data(), digits.size());
  }
  void text(std::string_view name, std::string_view value) override {
    next(name).value.append(value);
  }
  void list(std::string_view name, std::span<const std::string_view> values) override {
    Cell& cell = next(name);
    cell.backslashes = Backslashes::kept;
    for (const std::string_view& value : values) {
      if (&value != values.data()) cell.value += ", ";
      cell.value += value;
    }
  }

  void absent(std::string_view name) override { next(name); }

  struct Cell {
    std::string name;
    std::string value;
    Backslashes backslashes = Backslashes::doubled;  ///< lists hold text that is escaped already
  };

  std::size_t size() const { return used_; }
  std::string_view name(std::size_t i) const { return cells_[i].name; }
  /// The cell of a column; null if the record has none. `expected` is the cell's usual index.
  const Cell* find(std::string_view column, std::size_t expected) const {
    if (expected < used_ && cells_[expected].name == column) return &cells_[expected];
    for (std::size_t i = 0; i < used_; ++i)
      if (cells_[i].name == column) return &cells_[i];
    return nullptr;
  }

 private:
  Cell& next(std::string_view name) {
    if (used_ == cells_.size()) cells_.emplace_back();
    Cell& cell = cells_[used_++];
    cell.name = name;
    cell.value.clear();
    cell.backslashes = Backslashes::doubled;
    return cell;
  }

  std::vector<Cell> cells_;
  std::size_t used_ = 0;
};

}  // namespace overdue
