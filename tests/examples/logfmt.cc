#include "logfmt.h"

#include "core/session_members.h"
#include "sinks/escape.h"

namespace overdue {
namespace {

class LogfmtMembers final : public FlatMembers {
 public:
  explicit LogfmtMembers(Output& output) : output_(output) {}

 private:
  void put_text(std::string_view key, std::string_view value, const About&) override {
    output_.append(fmt::format(" {}=", key));
    append_json_string(output_, value);  // names come from other processes
  }
  void put_value(std::string_view key, std::string_view value) override {
    output_.append(fmt::format(" {}={}", key, value));
  }

  Output& output_;
};

template <typename F>
void write_line(Output& output, std::string_view type, const F& describe_members) {
  output.append(fmt::format("type={}", type));
  LogfmtMembers member(output);
  describe_members(member);
  output.append('\n');
}

}  // namespace

void LogfmtSink::section(const SectionPtr& section) {
  if (section->place() == Section::Place::text) return;  // a header, for people
  if (section->place() == Section::Place::report) {
    report_.push_back(section);
    return;
  }
  write_line(output_, section->type(), [&](Members& member) {
    section->members(member, {.info = info_, .receipt = Receipt{}});
  });
}

void LogfmtSink::end(const SessionInfo& info, const Receipt& receipt) {
  write_line(output_, "report", [&](Members& member) {
    describe(member, info);
    for (const SectionPtr& section : report_)
      section->members(member, {.info = info, .receipt = receipt});
  });
  write_line(output_, "receipt", [&](Members& member) { describe(member, receipt); });
  output_.flush();
}

}  // namespace overdue
