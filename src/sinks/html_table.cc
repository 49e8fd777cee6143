// Tables of the page: a column for each member that rows have, and what is too large for a cell
// below the row.
#include <algorithm>

#include <fmt/format.h>

#include "sinks/html_layout.h"

namespace overdue {
namespace {

using Kind = HtmlValue::Kind;

constexpr std::size_t cell_elements = 4;  ///< of a list, in a cell

struct Column {
  std::string path;  ///< keys of the objects around the member, and its own
  std::string label;
  std::string help;
  bool is_number = false;
  bool is_used = false;  ///< by a value that is not empty
};

struct Cell {
  std::size_t column;
  const HtmlValue* value;
};

struct Row {
  std::vector<Cell> cells;
  std::vector<const HtmlValue*> below;   ///< values that stand below the row
  std::vector<const HtmlValue*> splits;  ///< parts of parts
};

bool is_number(const HtmlValue& value) {
  return value.kind == Kind::number || value.kind == Kind::share;
}

bool is_flat(const HtmlValue& value) {
  return !value.has_children() || std::ranges::none_of(value.children, &HtmlValue::has_children);
}

/// Whether the value stands below the row.
bool is_large(const HtmlValue& value) {
  if (value.kind == Kind::finding || value.look == Look::command) return true;
  if (value.kind != Kind::list || is_histogram(value)) return false;
  if (!value.children.empty() && value.children.front().kind == Kind::frame) return false;
  return value.children.size() > cell_elements || !std::ranges::all_of(value.children, is_flat);
}

class Table {
 public:
  Table(const HtmlValue& list, KernelTime begin) : begin_(begin) {
    rows_.reserve(list.children.size());
    for (const HtmlValue& element : list.children) {
      Row& row = rows_.emplace_back();
      if (element.has_children())
        add(row, element, "", "");
      else if (element.kind == Kind::finding)
        row.below.push_back(&element);
      else
        add_cell(row, element, "", "");
    }
  }

  std::string html() const {
    std::string text = "<div class=\"table\"><table>\n<thead><tr>";
    for (const Column& column : columns_)
      if (column.is_used)
        text +=
            fmt::format("<th scope=\"col\" title=\"{}\"{}><button type=\"button\">{}</button></th>",
                        column.help, column.is_number ? " class=\"number\"" : "", column.label);
    text += "</tr></thead>\n";
    for (std::size_t i = 0; i < rows_.size(); ++i) text += row_html(rows_[i], i == 0);
    return text + "</table></div>\n";
  }

 private:
  void add(Row& row, const HtmlValue& object, const std::string& path, const std::string& label) {
    for (const HtmlValue& value : object.children) {
      if (value.look == Look::parts && !value.part_of.empty())
        row.splits.push_back(&value);
      else if (is_large(value))
        row.below.push_back(&value);
      else if (value.kind == Kind::object && value.look != Look::parts)
        add(row, value, path + value.key + '.', label + html_label(value.key) + ' ');
      else
        add_cell(row, value, path, label);
    }
  }

  void add_cell(Row& row, const HtmlValue& value, const std::string& path,
                const std::string& label) {
    const std::string key = path + value.key;
    auto column = std::ranges::find(columns_, key, &Column::path);
    if (column == columns_.end())
      column = columns_.insert(column, {.path = key,
                                        .label = label + html_label(value.key),
                                        .help = html_text(value.help),
                                        .is_number = true});
    column->is_used = column->is_used || !is_empty(value);
    column->is_number = column->is_number && (is_number(value) || value.kind == Kind::null);
    row.cells.push_back({static_cast<std::size_t>(column - columns_.begin()), &value});
  }

  std::string cell_html(const Row& row, std::size_t column) const {
    const auto cell = std::ranges::find(row.cells, column, &Cell::column);
    const HtmlValue* const value = cell == row.cells.end() ? nullptr : cell->value;
    std::string text = fmt::format("<td data-label=\"{}\"", columns_[column].label);
    if (value && is_number(*value)) text += fmt::format(" data-value=\"{:.17g}\"", value->number);
    if (columns_[column].is_number) text += " class=\"number\"";
    text += '>';
    if (value)
      text +=
          value->look == Look::parts ? html_bar(*value, row.splits) : html_inline(*value, begin_);
    return text + "</td>";
  }

  /// The values below a row; those of the first row are open.
  std::string below_html(const HtmlValue& value, bool is_open) const {
    if (value.look == Look::command) return "<p>" + html_inline(value, begin_) + "</p>";
    std::string content =
        value.kind == Kind::finding ? html_block(value.text) : html_table(value, begin_);
    if (value.key.empty()) return content;
    return fmt::format("<details{}><summary>{}</summary>{}</details>",
                       is_open && value.kind == Kind::finding ? " open=\"open\"" : "",
                       value.help.empty() ? html_label(value.key) : html_text(value.help), content);
  }

  std::string row_html(const Row& row, bool is_first) const {
    std::string text = "<tbody><tr>";
    std::size_t columns = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].is_used) text += cell_html(row, i), ++columns;
    text += "</tr>";
    std::string below;
    for (const HtmlValue* const value : row.below)
      if (!is_empty(*value)) below += below_html(*value, is_first);
    if (!below.empty())
      text += fmt::format("<tr class=\"below\"><td colspan=\"{}\">{}</td></tr>",
                          std::max<std::size_t>(columns, 1), below);
    return text + "</tbody>\n";
  }

  KernelTime begin_;
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace

std::string html_table(const HtmlValue& list, KernelTime begin) {
  return Table(list, begin).html();
}

}  // namespace overdue
