#include "source/trace_saver.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "target/output_file.h"

namespace overdue {
namespace {

Fd open_trace(const std::string& file) {
  if (file != "-") return create_output_file(file);
  return Fd(
      check_errno(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), "cannot write to standard output"));
}

}  // namespace

void TraceSaver::begin(const SessionInfo& info) {
  if (file_.empty()) return;
  trace_.emplace(open_trace(file_), schemas_, printable(file_));
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
