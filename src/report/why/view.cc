#include "report/why/view.h"

#include <memory>
#include <string>
#include <utility>

#include "report/why/sections.h"

namespace overdue {

void write_why(Sink& sink, const WhyAnalysis& analysis, const SessionInfo& info,
               const Receipt& receipt) {
  SessionInfo shown = info;
  for (std::string& note : analysis.notes()) shown.notes.push_back(std::move(note));
  sink.section(std::make_shared<WhySection>(analysis.figures(info)));
  sink.end(shown, receipt);
}

void WhyView::begin(const SessionInfo& info) {
  report_ = open_report(options_, spawned_, false);
  report_.sink->begin(info);
  analysis_.begin(info);
}

void WhyView::end(const SessionInfo& info, const Receipt& receipt) {
  analysis_.end(info, receipt);
  write_why(*report_.sink, analysis_, info, receipt);
  report_.output->close();
}

}  // namespace overdue
