#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/members.h"
#include "core/session_info.h"

namespace overdue {

/// What a section is written with.
struct ReportContext {
  const SessionInfo& info;
  const Receipt& receipt;     ///< empty before the end of the session
  bool has_lines = false;     ///< records or lines were written before
  bool color = false;         ///< of a text, as the rest
  bool whole_stacks = false;  ///< findings show every frame
  std::size_t width = 0;      ///< columns at which long lines fold; 0: never
  std::size_t columns = 0;    ///< columns of the terminal that is redrawn; 0: none is
};

/// A table of CSV. The members that a function describes are the cells of a row; their keys are the
/// header. Members of an object have its key before theirs; lists have no cell.
class CsvRows {
 public:
  virtual ~CsvRows() = default;
  /// Adds a row for each value; without values, the header alone.
  template <typename T, typename F>
  void rows(std::span<const T> values, const F& describe_cells) {
    for (const T& value : values) row([&](Members& cell) { describe_cells(cell, value); });
    if (values.empty()) header([&](Members& cell) { describe_cells(cell, T{}); });
  }
  virtual void row(const std::function<void(Members&)>& describe_cells) = 0;
  virtual void header(const std::function<void(Members&)>& describe_cells) = 0;
  /// Adds a comment below the table.
  virtual void remark(std::string_view text) = 0;
};

/// A part of a report: a table, a finding, an interval. Data for programs, text for people. Holds
/// all that it shows: a sink may keep it until the end.
class Section {
 public:
  enum class Place {
    report,    ///< members of the report itself; its text stands at the end
    line,      ///< a line of its own in a stream; one JSON object has no place for it
    progress,  ///< likewise, but the report at the end has its data too
    text       ///< for people only: a header, lines of a trace
  };

  virtual ~Section() = default;
  virtual Place place() const { return Place::report; }
  /// The type of a line: "stall", "interval".
  virtual std::string_view type() const { return {}; }

  /// The members in JSON.
  virtual void members(Members& member, const ReportContext& context) const = 0;
  /// Sections that NDJSON writes as lines before the report: the elements of a list.
  virtual std::vector<std::shared_ptr<const Section>> lines() const { return {}; }

  /// The text; every line ends in a newline.
  virtual std::string text(const ReportContext& context) const = 0;
  /// Whether an empty line separates the text from that of a section of the same type.
  virtual bool is_paragraph() const { return true; }
  /// Whether the text is for scripts too: then there is no header, and other lines begin with "# ".
  virtual bool is_bare() const { return false; }

  virtual void rows(CsvRows& csv, const ReportContext& context) const {
    (void)csv;
    (void)context;
  }
};
using SectionPtr = std::shared_ptr<const Section>;

/// A text that has no data of its own.
class TextSection final : public Section {
 public:
  explicit TextSection(std::string text) : text_(std::move(text)) {}
  Place place() const override { return Place::text; }
  void members(Members&, const ReportContext&) const override {}
  std::string text(const ReportContext&) const override { return text_; }

 private:
  std::string text_;
};

}  // namespace overdue
