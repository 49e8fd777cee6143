#include "top/layout.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "report/why/groups.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

using Style = TopCell::Style;

constexpr std::size_t header_lines = 3, figure_width = 7;
constexpr std::size_t bytes_max = 4'096;  // of a cell; a character has up to four

/// Where the columns of the rows begin, and how wide they are.
struct Columns {
  explicit Columns(std::size_t width)
      : name(width < 100   ? 18
             : width < 160 ? 26
                           : 36),
        bar(width < 100   ? 12
            : width < 160 ? 20
                          : 30),
        late_at(name + 1),
        bar_at(late_at + figure_width + 1),
        oncpu_at(bar_at + bar + 1),
        queue_at(oncpu_at + figure_width + 1),
        cause_at(queue_at + figure_width + 2),
        cause(width - cause_at) {}
  std::size_t name, bar, late_at, bar_at, oncpu_at, queue_at, cause_at, cause;
};

/// `text` in at most `width` columns, each character in one; "…" stands for the rest.
std::string shortened(std::string text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t column = 0; column + 1 < width; ++column)
    end += std::max<std::size_t>(1, printable_length(std::string_view(text).substr(end)));
  return text.substr(0, end) + "…";
}

class Drawing {
 public:
  Drawing(const TopState& state, std::size_t width, std::size_t height)
      : state_(state), width_(width), height_(height) {}

  std::vector<TopCell> draw(const TopHeader& header);

 private:
  void put(std::size_t line, std::size_t column, std::size_t width, std::string_view text,
           Style style = Style::plain) {
    cells_.push_back(
        {line, column, width, shortened(made_printable(text, bytes_max), width), style});
  }
  void put_line(std::size_t line, std::string_view text, Style style = Style::plain) {
    put(line, 0, width_, text, style);
  }
  void put_right(std::size_t line, std::size_t column, std::string_view text, Style style) {
    put(line, column, figure_width, fmt::format("{:>{}}", text, figure_width), style);
  }
  void draw_list();
  void draw_row(std::size_t line, const TopRow& row, Style style);
  void draw_text();
  std::string last_line() const;

  const TopState& state_;
  std::size_t width_, height_;
  std::vector<TopCell> cells_;
};

std::string_view name_of_rows(TopBy by) {
  return by == TopBy::groups ? "GROUP" : by == TopBy::threads ? "THREAD" : "PROCESS";
}

std::string figure(std::uint64_t ns) {
  return ns == 0 ? "-" : duration_text(ns);
}

void Drawing::draw_row(std::size_t line, const TopRow& row, Style style) {
  const Columns columns(width_);
  if (style == Style::selected) put_line(line, std::string(width_, ' '), style);
  put(line, 0, columns.name, row.name, style);
  put_right(line, columns.late_at, figure(row.late_ns), style);
  put(line, columns.bar_at, columns.bar, time_bar(row.sums, columns.bar), style);
  put_right(line, columns.oncpu_at, figure(row.sums.oncpu_ns), style);
  put_right(line, columns.queue_at, figure(row.sums.runnable_ns()), style);
  if (row.cause)
    put(line, columns.cause_at, columns.cause,
        fmt::format("{} {}", duration_text(row.cause_ns), row.cause->cause), style);
}

void Drawing::draw_list() {
  const Columns columns(width_);
  const TopList& list = state_.list();
  put_line(header_lines, std::string(width_, ' '), Style::heading);
  put(header_lines, 0, columns.name, name_of_rows(state_.by()), Style::heading);
  put_right(header_lines, columns.late_at, "LATE", Style::heading);
  put(header_lines, columns.bar_at, columns.bar, "TIME", Style::heading);
  put_right(header_lines, columns.oncpu_at, "ON CPU", Style::heading);
  put_right(header_lines, columns.queue_at, "QUEUE", Style::heading);
  put(header_lines, columns.cause_at, columns.cause, "LARGEST CAUSE", Style::heading);
  const std::size_t room = top_room(state_, height_);
  for (std::size_t i = 0; i < room && list.first() + i < list.rows().size(); ++i) {
    const std::size_t row = list.first() + i;
    draw_row(header_lines + 1 + i, list.rows()[row],
             row == list.selected() ? Style::selected : Style::plain);
  }
  if (const TopRow* row = list.selection(); row && row->cause)
    put_line(height_ - 2,
             fmt::format("{}: {} {}", row->name, duration_text(row->cause_ns), row->cause->cause));
}

void Drawing::draw_text() {
  const std::vector<std::string>& lines = state_.lines();
  const std::size_t room = top_room(state_, height_);
  for (std::size_t i = 0; i < room && state_.first_line() + i < lines.size(); ++i)
    put_line(header_lines + i, lines[state_.first_line() + i]);
}

std::string Drawing::last_line() const {
  if (!state_.message().empty()) return state_.message();
  const std::string& filter = state_.list().filter();
  if (state_.edits_filter())
    return fmt::format("filter: {}_   Enter: keep   Esc: all rows", filter);
  if (state_.shows() != TopState::Shows::list) {
    const std::size_t below =
        state_.lines().size() -
        std::min(state_.lines().size(), state_.first_line() + top_room(state_, height_));
    return below == 0 ? "Esc back  ↑↓ scroll  s save  q quit"
                      : fmt::format("Esc back  ↑↓ scroll ({} below)  s save  q quit",
                                    counted(below, "line"));
  }
  std::string keys = "q quit  ? help  Enter why  l/c/r/n sort  / filter  g group  t time  s save";
  if (filter.empty()) return keys;
  return fmt::format("filter {} ({} of {})  {}", filter, state_.list().rows().size(),
                     state_.list().all(), keys);
}

std::vector<TopCell> Drawing::draw(const TopHeader& header) {
  if (width_ < top_columns_least || height_ < top_lines_least) {
    put_line(0, fmt::format("overdue top needs {} columns and {} lines", top_columns_least,
                            top_lines_least));
    if (height_ > 1) put_line(1, "q quit");
    return std::move(cells_);
  }
  put_line(0, fmt::format("overdue top: {}; {} by {}, {}", header.session, top_by_name(state_.by()),
                          top_sort_name(state_.list().sort()),
                          state_.since_start() ? "since the start" : "in the last interval"));
  put_line(1, header.verdict, Style::heading);
  put_line(2, header.loss);
  if (state_.shows() == TopState::Shows::list)
    draw_list();
  else
    draw_text();
  put_line(height_ - 1, last_line());
  return std::move(cells_);
}

}  // namespace

std::size_t top_room(const TopState& state, std::size_t height) {
  const bool has_heading = state.shows() == TopState::Shows::list;
  const std::size_t used = header_lines + (has_heading ? 3 : 1);
  return height > used ? height - used : 1;
}

std::vector<TopCell> top_cells(const TopState& state, const TopHeader& header, std::size_t width,
                               std::size_t height) {
  return Drawing(state, width, height).draw(header);
}

}  // namespace overdue
