// `overdue schema`: the JSON Schema of every document and line that Overdue writes.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "core/probe.h"
#include "report/app_timers/sections.h"
#include "report/doctor/findings.h"
#include "report/flame/changes.h"
#include "report/hwlat/view.h"
#include "report/offcpu/sections.h"
#include "report/osnoise/sections.h"
#include "report/probe_list.h"
#include "report/profile/sections.h"
#include "report/run_queues/run_queues.h"
#include "report/stalls/chosen.h"
#include "report/timerlat/sections.h"
#include "report/why/causes.h"
#include "report/why/sections.h"
#include "sinks/finding_sections.h"
#include "sinks/json_schema.h"
#include "sinks/latency_sections.h"
#include "sinks/output.h"
#include "sinks/window_sections.h"

namespace overdue {
namespace {

/// A section of any content.
template <typename T>
SectionPtr any() {
  return std::make_shared<T>();
}

/// The sections of each report.
std::vector<ReportShape> reports() {
  return {{"Latencies of system calls", {any<LatencySection>()}},
          {"Why a target was slow: the causes of late time", {any<WhySection>()}},
          {"Where CPU time was spent, by samples", {any<ProfileSection>()}},
          {"Latencies of spans of other kinds", {std::make_shared<LatencySection>("spans")}},
          {"Time on and off the CPU by thread", {any<OffcpuSection>()}},
          {"System calls found by --discover", {any<NamesSection>()}},
          {"The session of a stream of calls", {any<UnfinishedSection>()}},
          {"The session of a stream of findings", {any<CausesSection>()}},
          {"The same with percentiles as thresholds", {any<ChosenSection>(), any<CausesSection>()}},
          {"Latencies of timers by CPU", {any<TimerlatReport>(), any<TimerlatCause>()}},
          {"Latencies of a program's own timers", {any<AppTimersReport>()}},
          {"Noise by CPU", {any<OsnoiseReport>()}},
          {"The longest latencies of a kind", {any<WorstSection>()}},
          {"Latencies not caused by software", {any<HwlatSection>()}}};
}

/// The sections that are lines of a stream, and their types.
std::vector<LineShape> lines() {
  return {
      {{"interval"}, "System calls of one interval", LatencySection::any_interval()},
      {{"interval"}, "Spans of one interval", LatencySection::any_interval("spans")},
      {{"interval"}, "Time on and off the CPU in one interval", OffcpuSection::any_interval()},
      {{"interval"}, "Samples of one interval", ProfileSection::any_interval()},
      {{"interval"}, "Latencies of timers since the start", any<TimerlatInterval>()},
      {{"interval"},
       "Latencies of a program's own timers since the start",
       any<AppTimersInterval>()},
      {{"interval"}, "Noise since the start", any<OsnoiseInterval>()},
      {{"stall", "hang"},
       "A span that took as long as its threshold (stall), or has not ended yet (hang)",
       any<FindingSection>()},
      {{"more"}, "Findings with the cause of another, which are not shown", any<RepeatsSection>()},
      {{"cause"}, "The findings of one cause, added up", any<CauseLine>()},
      {{"name"}, "A system call found by --discover", NamesSection::element()},
      {{"worst"}, "One of the longest latencies", any<WindowSection>()},
      {{"hwlat"}, "A latency not caused by software", any<HwlatWindowSection>()}};
}

constexpr DocumentShape documents[] = {
    {"The probes, as overdue probes lists them", describe_probes},
    {"The report of overdue doctor", [](Members& member) { describe(member, Diagnosis{}); }},
    {"The run queues that overdue offcpu --run-queues lists",
     [](Members& member) { describe(member, RunQueues{}); }},
    {"The changes that overdue flame --diff shows",
     [](Members& member) { describe(member, FlameChanges{}); }},
};

class SchemaCommand final : public Command {
 public:
  std::string_view name() const override { return "schema"; }
  Rights rights() const override { return Rights::caller; }
  void add_options(CLI::App&) override {}
  int run(const Invocation&) override {
    Output output(STDOUT_FILENO);
    output.append(json_schema(all_schemas(), reports(), lines(), documents));
    output.flush();
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_schema_command() {
  return std::make_unique<SchemaCommand>();
}

}  // namespace overdue
