#include "report/replay.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "bpf/frame.h"
#include "core/recorded_stacks.h"
#include "report/app_timers/view.h"
#include "report/hwlat/view.h"
#include "report/offcpu/stacks_view.h"
#include "report/offcpu/view.h"
#include "report/osnoise/view.h"
#include "report/timerlat/view.h"
#include "report/why/view.h"
#include "report/worst/view.h"
#include "sinks/make_sink.h"
#include "source/measure.h"

namespace overdue {
namespace {

constexpr std::uint64_t tick_every_ns = 500'000'000;  // of recorded time, as in a live session

/// Gives a listener the records that it would have got live.
class ListenerReplay final : public Sink {
 public:
  /// `part`: has_part() of the recording; empty: the whole.
  ListenerReplay(MeasureListener& listener, RecordedStacks& stacks, std::string part = {})
      : listener_(listener), stacks_(stacks), part_(std::move(part)) {}

  void begin(const SessionInfo& info) override { listener_.begin(part_of(info, part_)); }
  void record(const Record& record) override {
    if (record.schema->id == RECORD_FRAME) return stacks_.frame(record);
    listener_.record(record);
    const std::uint64_t now_ns = record.header().time_ns;
    if (now_ns < tick_ns_ + tick_every_ns) return;
    listener_.tick();  // writes buffered output, which would fill the memory
    tick_ns_ = now_ns;
  }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    listener_.settle();
    listener_.end(part_of(info, part_), receipt);
  }

 private:
  MeasureListener& listener_;
  RecordedStacks& stacks_;
  std::string part_;
  std::uint64_t tick_ns_ = 0;
};

void check_view(const std::string& view, const SessionInfo& info, bool has_lines) {
  if (view == "summary" || (has_lines && (view == "hist" || view == "trace"))) return;
  throw Error("a recording of `overdue {}` has no view '{}'", printable(info.command), view)
      .hint(has_lines ? "--view summary, hist, trace" : "--view summary")
      .exit_status(2);
}

void check_lines(const std::string& view, const OutputOptions& output) {
  if (view == "trace") refuse_stream_on_page(output.format, "--view trace");
  if (view == "trace" && output.format == "json")
    throw Error("-f json and --view trace do not go together")
        .hint("use -f ndjson: one JSON object a line")
        .exit_status(2);
}

void check_recorded(const OffcpuPlan& plan) {
  if (plan.show.table == OffcpuTableOf::cpus && !plan.has_cpus)
    throw Error("this recording has no totals by CPU")
        .hint("overdue offcpu --by cpu --save FILE records them")
        .exit_status(2);
  if (plan.show.table == OffcpuTableOf::stacks && plan.stacks_over == Duration{})
    throw Error("this recording has no stacks of waits")
        .hint("overdue offcpu --by stack --save FILE records stacks")
        .exit_status(2);
}

template <typename Plan>
Plan with_view(Plan plan, const std::string& view) {
  plan.histogram = view == "hist";
  plan.trace = view == "trace";
  return plan;
}

}  // namespace

RecordedReport report_of(const SessionInfo& info) {
  if (info.command == "osnoise") return RecordedReport::osnoise;
  if (info.command == "offcpu") return RecordedReport::offcpu;
  if (info.command == "profile") return RecordedReport::profile;
  if (info.command == "why") return RecordedReport::why;
  if (info.command == "timerlat")
    return info.options.contains("period_ns") ? RecordedReport::timerlat
                                              : RecordedReport::app_timers;
  if (info.command != "worst") return RecordedReport::calls;
  const bool of_hardware = info.spans == std::vector<std::string>{"hwlat"};
  return of_hardware ? RecordedReport::hwlat : RecordedReport::worst;
}

bool has_part(const SessionInfo& info, std::string_view name) {
  const auto first = info.options.lower_bound(fmt::format("{}.", name));
  return first != info.options.end() && first->first.starts_with(fmt::format("{}.", name));
}

SessionInfo part_of(const SessionInfo& info, std::string_view name) {
  if (name.empty()) return info;
  SessionInfo part = info;
  const std::string prefix = fmt::format("{}.", name);
  part.options.clear();
  for (const auto& [key, value] : info.options)
    if (key.starts_with(prefix)) part.options[key.substr(prefix.size())] = value;
  part.command = name == "app_timers" ? "timerlat" : name == "hwlat" ? "worst" : name;
  part.thresholds.clear();
  part.spans.clear();
  if (name == "hwlat") part.spans = {"hwlat"};
  if (const auto latency = part.options.find("latency"); latency != part.options.end())
    part.spans = {latency->second};
  return part;
}

bool has_every_call(const SessionInfo& info) {
  return info.command != "stalls" && !info.options.contains(only_own) &&
         (info.spans.empty() || info.options.contains("every_call"));
}

bool has_stalls(const SessionInfo& info) {
  return info.command == "stalls" || !info.spans.empty();
}

void replay_report(TraceReader& reader, const std::string& part, const std::string& view,
                   const std::string& by, const OutputOptions& output) {
  const SessionInfo info = part_of(reader.info(), part);
  const RecordedReport kind = report_of(info);
  if (kind == RecordedReport::offcpu)
    check_sink_or_flame_format(output.format);
  else
    check_sink_format(output.format);
  check_view(view, info, kind == RecordedReport::timerlat || kind == RecordedReport::osnoise);
  check_lines(view, output);
  RecordedStacks stacks;
  const auto show = [&](MeasureListener& listener) {
    ListenerReplay replay(listener, stacks, part);
    reader.replay(replay);
  };
  if (kind == RecordedReport::timerlat) {
    const TimerlatPlan plan = with_view(kept_timerlat_plan(info), view);
    TimerlatView shown(plan, output, false, stacks);
    show(shown);
  } else if (kind == RecordedReport::app_timers) {
    AppTimersView shown(kept_app_timers_plan(info), output, stacks);
    show(shown);
  } else if (kind == RecordedReport::osnoise) {
    OsnoisePlan plan = with_view(kept_osnoise_plan(info), view);
    if (!by.empty()) choose_rows(plan, by);
    check_origins(plan);
    OsnoiseView shown(plan, output, false);
    show(shown);
  } else if (kind == RecordedReport::hwlat) {
    HwlatView shown(kept_hwlat_plan(info), output);
    show(shown);
  } else if (kind == RecordedReport::offcpu) {
    OffcpuPlan plan = kept_offcpu_plan(info);
    if (is_of_stacks(output.format))
      choose_stacks(plan.show, output.format, by);
    else if (!by.empty())
      choose_rows(plan.show, by);
    check_recorded(plan);
    OffcpuView shown(plan, output);
    if (plan.show.table == OffcpuTableOf::stacks) {
      OffcpuStacksView with_stacks(shown, stacks, plan, {});
      show(with_stacks);
    } else {
      show(shown);
    }
  } else if (kind == RecordedReport::why) {
    WhyPlan plan = kept_why_plan(info);
    if (!by.empty()) choose_rows(plan, by);
    WhyView shown(plan, output, stacks);
    show(shown);
  } else if (kind == RecordedReport::worst) {
    WorstView shown(kept_worst_plan(info), output, false, stacks);
    show(shown);
  }
}

void replay_profile(TraceReader& reader, ProfilePlan plan, const OutputOptions& output) {
  check_sink_or_flame_format(output.format);
  use_kept(plan, reader.info());
  RecordedStacks stacks;
  ProfileView view(std::move(plan), output, false, stacks);
  ListenerReplay replay(view, stacks);
  reader.replay(replay);
}

}  // namespace overdue
