#include "report/interval.h"

#include "base/time.h"

namespace overdue {

void IntervalSection::describe_time(Members& member) const {
  member("start", format_rfc3339(time_.start), {.help = "end of the previous interval"});
  member("end", format_rfc3339(time_.end),
         {.help = "the figures are from the start of the session until then"});
}

void describe_row_time(Members& cell, std::string_view type, const ReportTime& time) {
  cell("type", type);
  cell("start", format_rfc3339(time.start));
  cell("end", format_rfc3339(time.end));
}

ReportTime whole_session(const SessionInfo& info) {
  return {.start = info.start_wall,
          .end = info.wall(info.start + info.duration),
          .duration = info.duration};
}

}  // namespace overdue
