#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "top/rows.h"

namespace overdue {

enum class TopSort { late, oncpu, runqueue, name };

std::string_view top_sort_name(TopSort sort);

/// The rows on the screen: sorted, filtered, one of them selected. The selection follows its row
/// through every refresh, and stays where it was if the row is gone.
class TopList {
 public:
  void show(std::vector<TopRow> rows);
  void sort_by(TopSort sort);
  /// Shows the rows that have `text` in their name or cause, in whatever case.
  void filter(std::string text);
  /// Moves the selection by so many rows, as far as there are rows.
  void move(long by);
  void move_to_first() { move(-static_cast<long>(rows_.size())); }
  void move_to_last() { move(static_cast<long>(rows_.size())); }
  /// Scrolls so that the selection is among `lines` rows from first() on.
  void fit(std::size_t lines);

  const std::vector<TopRow>& rows() const { return rows_; }
  /// Number of all rows, with those that the filter hides.
  std::size_t all() const { return all_.size(); }
  /// The selected row; null if there is none.
  const TopRow* selection() const { return rows_.empty() ? nullptr : &rows_[selected_]; }
  std::size_t selected() const { return selected_; }
  std::size_t first() const { return first_; }
  TopSort sort() const { return sort_; }
  const std::string& filter() const { return filter_; }

 private:
  void arrange();

  std::vector<TopRow> all_, rows_;
  TopSort sort_ = TopSort::late;
  std::string filter_;
  std::size_t selected_ = 0, first_ = 0;
  bool has_moved_ = false;  ///< the user has chosen a row
};

}  // namespace overdue
