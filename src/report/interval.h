#pragma once

#include <string_view>

#include "core/section.h"
#include "core/session_info.h"

namespace overdue {

/// The time that figures are of.
struct ReportTime {
  WallTime start{}, end{};
  Duration duration{};  ///< from the start of the session
};

/// Figures since the start of the session, at the end of an interval.
class IntervalSection : public Section {
 public:
  Place place() const final { return Place::progress; }
  std::string_view type() const final { return "interval"; }

 protected:
  IntervalSection() = default;
  /// `info`: the session until now; `shown`: its duration at the end of the interval before.
  IntervalSection(const SessionInfo& info, Duration shown)
      : time_{.start = info.wall(info.start + shown),
              .end = info.wall(info.start + info.duration),
              .duration = info.duration} {}

  const ReportTime& time() const { return time_; }
  void describe_time(Members& member) const;

 private:
  ReportTime time_;
};

/// The first cells of a row: its type ("interval", "total"), and the time that its figures are of.
void describe_row_time(Members& cell, std::string_view type, const ReportTime& time);

/// The time of the whole session, at its end.
ReportTime whole_session(const SessionInfo& info);

}  // namespace overdue
