#include "top/view.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "report/why/causes.h"
#include "report/why/view.h"
#include "sinks/make_sink.h"
#include "sinks/text_finding.h"
#include "sinks/text_format.h"
#include "target/output_file.h"

namespace overdue {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// The name of a saved report, by local time.
std::string new_name() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char name[64] = {};
  std::strftime(name, sizeof name, "overdue-top-%Y%m%d-%H%M%S.txt", &parts);
  return name;
}

/// A row with its largest cause and the longest operation of it.
std::string chain_text(const TopRow& row, Duration wall, std::uint64_t all_ns,
                       const SessionInfo& info) {
  std::string text = fmt::format("{}: {} late in {}\n\n", row.name, duration_text(row.late_ns),
                                 format_duration(wall));
  if (!row.cause) return text + "No cause was found for these threads.\n";
  const WhyCause& cause = *row.cause;
  text += causes_text({&cause, 1}, 1, all_ns) + "\n";
  if (cause.example)
    text += "the longest of this cause\n" +
            finding_text(*cause.example, info, {.whole_stacks = false, .threshold = false});
  else
    text += "No single operation was examined: sums alone show this cause.\n";
  return text + "\nlook closer\n  " + cause.next + "\n";
}

}  // namespace

void TopView::begin(const SessionInfo& info) {
  info_ = info;
  analysis_.begin(info);
}

void TopView::add_to(std::vector<pollfd>& waits) const {
  if (screen_) waits.push_back({STDIN_FILENO, POLLIN, 0});
}

/// The screen begins with the first call: until then, a line of progress may be on the terminal.
void TopView::polled() {
  if (!screen_) {
    screen_ = std::make_unique<TopScreen>();
    draw();
  }
  bool has_changed = false;
  while (const auto key = screen_->key()) {
    if (key->kind == TopKey::Kind::redraw) screen_->forget();
    act(state_.press(*key));
    has_changed = true;
  }
  if (has_changed) draw();
  if (screen_->is_gone()) has_quit_ = true;
}

void TopView::act(TopAction action) {
  switch (action) {
    case TopAction::none:
      return;
    case TopAction::quit:
      has_quit_ = true;
      return;
    case TopAction::save:
      return state_.say(save());
    case TopAction::regroup:
    case TopAction::retime:
      return show_rows();
    case TopAction::explain:
      return explain();
  }
}

void TopView::so_far(const SessionInfo& info, const Receipt& receipt) {
  info_ = info;
  receipt_ = receipt;
}

void TopView::interval(const SessionInfo& info, Duration wall) {
  if (!screen_ || wall.count() == 0) return;
  interval_ = {.threads = analysis_.interval_threads(),
               .why = analysis_.interval_figures(info, wall),
               .wall = wall};
  analysis_.end_interval();
  show_rows();
  draw();
}

const TopView::Figures& TopView::shown() {
  if (!state_.since_start()) return interval_;
  session_ = {
      .threads = analysis_.threads(), .why = analysis_.figures(info_), .wall = info_.duration};
  return session_;
}

void TopView::show_rows() {
  const Figures& figures = shown();
  state_.list().show(top_rows(figures.threads, figures.why, state_.by()));
}

void TopView::explain() {
  const Figures& figures = state_.since_start() ? session_ : interval_;
  const TopRow& row = *state_.list().selection();
  state_.show_chain(lines_of(
      folded_lines(chain_text(row, figures.wall, figures.why.late_ns, info_), screen_->columns())));
}

std::string TopView::save() {
  if (info_.duration.count() == 0) return "Nothing to save yet: the first interval is not over.";
  SessionInfo info = info_;
  if (complete_) complete_(info);
  const std::string path = new_name();
  try {
    Output output(create_new_output_file(path));
    const auto sink = make_sink("text", output, {});
    sink->begin(info);
    write_why(*sink, analysis_, info, receipt_);
    output.close();
    return fmt::format("The report of the session so far is in {}.", path);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string TopView::loss_text() const {
  if (info_.duration.count() == 0) return "measuring; the first interval is not over";
  std::string text = receipt_lines(info_, receipt_).front();
  if (const std::uint64_t count = analysis_.left_out(); count > 0)
    text = fmt::format("{} not examined, {}", counted(count, "late operation"), text);
  return text;
}

void TopView::draw() {
  const std::size_t width = screen_->columns(), height = screen_->lines();
  state_.set_room(top_room(state_, height));
  const Figures& figures = state_.since_start() ? session_ : interval_;
  screen_->draw(top_cells(
      state_,
      {.session = fmt::format("{}, {}", target_text(info_.target), format_duration(info_.duration)),
       .verdict = figures.why.verdict,
       .loss = loss_text()},
      width, height));
}

void TopView::end(const SessionInfo& info, const Receipt& receipt) {
  analysis_.end(info, receipt);
  const OutputOptions options;
  const ReportOutput report = open_report(options, false, false);
  report.sink->begin(info);
  write_why(*report.sink, analysis_, info, receipt);
  report.output->close();
}

}  // namespace overdue
