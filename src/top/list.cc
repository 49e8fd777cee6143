#include "top/list.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

namespace overdue {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return result;
}

/// Whether `a` stands before `b`. Rows that are equal in the column are in the order of `why`.
bool is_before(const TopRow& a, const TopRow& b, TopSort sort) {
  const auto order = [&](const TopRow& row) {
    const std::uint64_t first = sort == TopSort::oncpu      ? row.sums.oncpu_ns
                                : sort == TopSort::runqueue ? row.sums.runnable_ns()
                                : sort == TopSort::late     ? row.late_ns
                                                            : 0;
    return std::tuple(first, row.late_ns, row.sums.oncpu_ns + row.sums.waiting_ns());
  };
  if (sort == TopSort::name) return std::tie(a.name, a.key) < std::tie(b.name, b.key);
  if (order(a) != order(b)) return order(a) > order(b);
  return std::tie(a.name, a.key) < std::tie(b.name, b.key);
}

}  // namespace

std::string_view top_sort_name(TopSort sort) {
  switch (sort) {
    case TopSort::late:
      return "late time";
    case TopSort::oncpu:
      return "time on CPU";
    case TopSort::runqueue:
      return "run queue";
    case TopSort::name:
      break;
  }
  return "name";
}

void TopList::show(std::vector<TopRow> rows) {
  all_ = std::move(rows);
  arrange();
}

void TopList::sort_by(TopSort sort) {
  sort_ = sort;
  arrange();
}

void TopList::filter(std::string text) {
  filter_ = std::move(text);
  arrange();
}

void TopList::arrange() {
  const std::string key = has_moved_ && selection() ? selection()->key : "";
  const std::string wanted = lower(filter_);
  rows_.clear();
  for (const TopRow& row : all_)
    if (lower(row.name).find(wanted) != std::string::npos ||
        (row.cause && lower(row.cause->cause).find(wanted) != std::string::npos))
      rows_.push_back(row);
  std::ranges::sort(rows_,
                    [this](const TopRow& a, const TopRow& b) { return is_before(a, b, sort_); });
  const auto same = std::ranges::find(rows_, key, &TopRow::key);
  if (!key.empty() && same != rows_.end())
    selected_ = static_cast<std::size_t>(same - rows_.begin());
  selected_ = rows_.empty() ? 0 : std::min(selected_, rows_.size() - 1);
}

void TopList::move(long by) {
  if (rows_.empty()) return;
  const long last = static_cast<long>(rows_.size()) - 1;
  selected_ = static_cast<std::size_t>(std::clamp(static_cast<long>(selected_) + by, 0L, last));
  has_moved_ = selected_ > 0;
}

void TopList::fit(std::size_t lines) {
  if (selected_ < first_) first_ = selected_;
  if (lines > 0 && selected_ >= first_ + lines) first_ = selected_ - lines + 1;
  if (rows_.size() <= lines) first_ = 0;
}

}  // namespace overdue
