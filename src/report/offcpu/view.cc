#include "report/offcpu/view.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "flame/formats.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

using Figure = std::uint64_t (*)(const OffcpuRow&);

constexpr std::pair<std::string_view, Figure> columns[] = {
    {"waiting", [](const OffcpuRow& row) { return row.waiting_ns(); }},
    {"total", [](const OffcpuRow& row) { return row.offcpu_ns(); }},
    {"blocked", [](const OffcpuRow& row) { return row.blocked_ns(); }},
    {"runnable", [](const OffcpuRow& row) { return row.runnable_ns(); }},
    {"preempted", [](const OffcpuRow& row) { return row.preempted_ns; }},
    {"throttled", [](const OffcpuRow& row) { return row.throttled_ns; }},
    {"oncpu", [](const OffcpuRow& row) { return row.oncpu_ns; }},
    {"max", [](const OffcpuRow& row) { return row.longest_ns(); }},
    {"count", [](const OffcpuRow& row) { return row.switches; }},
};

Figure figure_of(std::string_view column) {
  const auto found =
      std::ranges::find(columns, column, &std::pair<std::string_view, Figure>::first);
  return found == std::end(columns) ? nullptr : found->second;
}

}  // namespace

void OffcpuPlan::check() const {
  if (figure_of(sort)) return;
  std::string known;
  for (const auto& [name, figure] : columns)
    known += (known.empty() ? "" : ", ") + std::string(name);
  throw Error("unknown column '{}'", printable(sort)).hint("--sort " + known).exit_status(2);
}

bool is_of_stacks(std::string_view format) {
  return format != "html" && is_flame_format(format);
}

void choose_stacks(OffcpuShow& show, std::string_view format, std::string_view by) {
  if (!by.empty() && by != "stack")
    throw Error("-f {} has the stacks of waits, and no rows by {}", format, printable(by))
        .hint("-f text, json, csv, ndjson and html have rows")
        .exit_status(2);
  choose_rows(show, "stack");
}

KeptOptions kept_options(const OffcpuPlan& plan) {
  return {{"by", std::to_string(static_cast<int>(plan.show.by))},
          {"table", std::to_string(static_cast<int>(plan.show.table))},
          {"lines", std::to_string(plan.show.lines)},
          {"top", std::to_string(plan.show.top)},
          {"has_cpus", std::to_string(plan.has_cpus)},
          {"has_net", std::to_string(plan.has_net)},
          {"runnable_only", std::to_string(plan.runnable_only)},
          {"wakers", std::to_string(plan.draws_wakers)},
          {"oncpu", std::to_string(plan.draws_oncpu)},
          {"stacks_over_ns", std::to_string(plan.stacks_over.count())},
          {"sort", plan.sort}};
}

OffcpuPlan kept_offcpu_plan(const SessionInfo& info) {
  const auto number = [&info](std::string_view name, std::uint64_t otherwise, std::uint64_t most) {
    return kept_number(info.options, name, otherwise, most);
  };
  OffcpuPlan plan;
  plan.show.by = static_cast<Whose>(number("by", 0, static_cast<int>(Whose::parent)));
  const std::uint64_t of_older = number("by_displacer", 0, 1);
  plan.show.table =
      static_cast<OffcpuTableOf>(number("table", of_older, static_cast<int>(OffcpuTableOf::cpus)));
  plan.has_cpus = number("has_cpus", 0, 1) != 0;
  plan.has_net = number("has_net", 0, 1) != 0;
  plan.stacks_over = Duration(number("stacks_over_ns", 0, INT64_MAX));
  plan.draws_wakers = number("wakers", 0, 1) != 0;
  plan.draws_oncpu = number("oncpu", 0, 1) != 0;
  plan.show.lines = number("lines", 0, 1) != 0;
  plan.show.top = number("top", 0, UINT32_MAX);
  plan.runnable_only = number("runnable_only", 0, 1) != 0;
  const auto sort = info.options.find("sort");
  if (sort != info.options.end() && figure_of(sort->second)) plan.sort = sort->second;
  return plan;
}

void OffcpuView::begin(const SessionInfo& info) {
  if (is_of_stacks(options_.format)) {
    report_.output = open_output(options_, plan_.spawned);
    return;
  }
  report_ = open_report(options_, plan_.spawned, options_.interval.has_value());
  report_.sink->begin(info);
}

std::vector<OffcpuRow> OffcpuView::sorted(std::vector<OffcpuRow> rows, const Names& names) const {
  complete_rows(rows, plan_.show.by, names,
                plan_.show.lines ? QueueOfWork::left_out : QueueOfWork::shown);
  if (plan_.runnable_only)
    std::erase_if(rows, [](const OffcpuRow& row) { return row.runnable_ns() == 0; });
  const Figure figure =
      figure_of(plan_.runnable_only && plan_.sort == "waiting" ? "runnable" : plan_.sort);
  std::ranges::sort(rows, [figure](const OffcpuRow& one, const OffcpuRow& other) {
    const auto key = [figure](const OffcpuRow& row) {
      return std::tuple(~figure(row), ~row.offcpu_ns(), row.pid, row.tid,
                        std::string_view(row.comm), row.parent_pid, row.cgroup_id);
    };
    return key(one) < key(other);
  });
  return rows;
}

void OffcpuView::interval(const SessionInfo& info, Duration wall) {
  if (wall == Duration{}) return;
  const KernelTime end = info.start + info.duration;
  const auto section =
      std::make_shared<OffcpuSection>(sorted(table_.interval_rows(plan_.show.by), info.names),
                                      plan_.show, info.wall(end - wall), info.wall(end));
  if (plan_.show.table == OffcpuTableOf::cpus) section->set_cpus(cpus_.interval_rows());
  if (plan_.has_net) {
    const std::vector<OffcpuRow> processes = table_.interval_rows(Whose::process);
    section->set_net(sockets_.interval(processes));
    sockets_.end_interval(processes, wall);
  }
  report_.sink->section(section);
  table_.end_interval();
  cpus_.end_interval();
}

void OffcpuView::end(const SessionInfo& info, const Receipt& receipt) {
  if (!report_.sink) {
    report_.output->append(drawing_);
    report_.output->close();
    return;
  }
  SessionInfo shown = info;
  if (const std::uint64_t merged = table_.merged_threads())
    shown.notes.push_back(
        fmt::format("threads that had ended and are added up by name: {}", grouped(merged)));
  const auto section =
      std::make_shared<OffcpuSection>(sorted(table_.rows(plan_.show.by), info.names), plan_.show);
  if (plan_.show.table == OffcpuTableOf::cpus) section->set_cpus(cpus_.rows());
  if (stacks_) section->set_stacks(std::move(*stacks_));
  if (plan_.has_net) section->set_net(sockets_.total(table_.rows(Whose::process)));
  report_.sink->section(section);
  report_.sink->end(shown, receipt);
  report_.output->close();
}

}  // namespace overdue
