#include "source/trace_saver.h"

#include "base/text.h"
#include "target/output_file.h"

namespace overdue {

void TraceSaver::begin(const SessionInfo& info) {
  if (file_.empty()) return;
  trace_.emplace(create_output_file(file_), schemas_, printable(file_));
  trace_->begin(info);
  if (namer_) recorder_.emplace(*namer_, [this](const Record& record) { trace_->record(record); });
}

void TraceSaver::record(const Record& record) {
  if (recorder_)
    recorder_->record(record);
  else if (trace_)
    trace_->record(record);
}

void TraceSaver::flush() {
  if (trace_) trace_->flush();
}

void TraceSaver::end(const SessionInfo& info, const Receipt& receipt) {
  if (trace_) trace_->end(info, receipt);
}

}  // namespace overdue
