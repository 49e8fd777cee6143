#include "report/offcpu/stacks_view.h"

namespace overdue {
OffcpuStacksView::OffcpuStacksView(OffcpuView& view, StackNamer& namer, const OffcpuPlan& plan,
                                   const std::string& flame)
    : view_(view),
      has_table_(plan.show.table == OffcpuTableOf::stacks),
      has_flame_file_(!flame.empty()),
      stacks_(namer, plan.stacks_over) {
  if (!has_flame_file_ && !is_of_stacks(view.format())) return;
  drawing_.emplace(
      flame, flame_format_of(flame),
      plan.draws_oncpu ? "Where threads spent their time" : "Where threads were off the CPU");
  stacks_.draw_to(*drawing_, plan.draws_wakers ? WakerFrames::joined : WakerFrames::left_out,
                  !plan.draws_oncpu);
  if (plan.draws_oncpu) oncpu_.emplace(namer);
}

void OffcpuStacksView::begin(const SessionInfo& info) {
  view_.begin(info);
  stacks_.begin(info);
  use_names(info.names);
}

void OffcpuStacksView::record(const Record& record) {
  view_.record(record);
  stacks_.record(record);
  if (oncpu_) oncpu_->record(record);
}

void OffcpuStacksView::tick() {
  view_.tick();
  stacks_.tick();
}

void OffcpuStacksView::end(const SessionInfo& info, const Receipt& receipt) {
  SessionInfo reported = info;
  const std::vector<OffcpuRow> threads = view_.threads(info.names);
  stacks_.add_rest(threads);
  if (oncpu_ && drawing_) oncpu_->draw(threads, *drawing_);
  for (std::string& note : stacks_.notes()) reported.notes.push_back(std::move(note));
  if (drawing_ && has_flame_file_) drawing_->end(reported, receipt);
  if (drawing_ && is_of_stacks(view_.format()))
    view_.set_drawing(drawing_->text(view_.format(), reported, receipt));
  if (has_table_) view_.set_stacks(stacks_.rows());
  view_.end(reported, receipt);
}

}  // namespace overdue
