#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/section.h"
#include "report/why/blame.h"
#include "report/why/cause.h"

namespace overdue {

/// The members of a cause, but for its threads. `late_ns`: of all causes.
void describe_cause(Members& member, const WhyCause& cause, std::uint64_t late_ns);

/// "waiter-* 1.20s, main[7] 300ms, 2 others"; a single name without its time.
std::string names_text(const std::vector<WhyName>& names);

/// Time of all causes of a list.
std::uint64_t total_of(std::span<const WhyCause> causes);

enum class CausesAre : std::uint8_t { late, undecided };

/// A table of causes, with the threads that were late. `all`: number of causes, shown or not.
std::string causes_text(std::span<const WhyCause> shown, std::size_t all, std::uint64_t late_ns,
                        CausesAre are = CausesAre::late);

/// A cause as a line of a stream.
class CauseLine final : public Section {
 public:
  CauseLine() = default;
  CauseLine(WhyCause cause, std::uint64_t late_ns) : cause_(std::move(cause)), late_ns_(late_ns) {}
  Place place() const override { return Place::line; }
  std::string_view type() const override { return "cause"; }
  void members(Members& member, const ReportContext&) const override;
  std::string text(const ReportContext&) const override { return {}; }

 private:
  WhyCause cause_;
  std::uint64_t late_ns_ = 0;
};

/// The longest finding of a cause as a line of a stream, if the finding was not shown.
class ExampleLine final : public Section {
 public:
  explicit ExampleLine(Finding finding) : finding_(std::move(finding)) {}
  Place place() const override { return Place::line; }
  std::string_view type() const override { return finding_.type; }
  void members(Members& member, const ReportContext&) const override;
  std::string text(const ReportContext&) const override { return {}; }

 private:
  Finding finding_;
};

/// The first lines of a finding, or all with whole stacks, indented.
std::string example_text(const Finding& finding, const ReportContext& context);

/// The causes of all findings of a session, added up.
class CausesSection final : public Section {
 public:
  struct Options {
    std::size_t top = 0;         ///< rows of text; 0: the default
    bool shows_longest = false;  ///< the text ends with the longest finding of all causes
    std::vector<bool> shown{};   ///< by the number of a finding: whether it was shown
  };
  CausesSection() = default;
  CausesSection(const BlameTable& blame, Options options);

  bool empty() const { return causes_.empty(); }
  void members(Members& member, const ReportContext&) const override;
  std::string text(const ReportContext&) const override;
  std::vector<std::shared_ptr<const Section>> lines() const override;

 private:
  std::vector<WhyCause> causes_;
  std::uint64_t late_ns_ = 0;
  Options options_;
};

}  // namespace overdue
