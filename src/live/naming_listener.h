#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bpf/span.h"
#include "live/live_stacks.h"
#include "source/listener.h"
#include "source/trace_saver.h"

namespace overdue {

/// Hands all calls on to a view whose records have stacks of running processes, follows these
/// processes, and saves the records. Used by one thread.
class NamingListener final : public MeasureListener {
 public:
  /// `view` and `stacks` must outlive this object; `stacks` names what `view` shows. `save`: the
  /// trace file; empty: none. `complete` adds what is known at the end of the session to its
  /// information, which the view and the file get.
  NamingListener(MeasureListener& view, LiveStacks& stacks, std::string save,
                 std::function<void(SessionInfo&)> complete = {})
      : view_(view),
        stacks_(stacks),
        saver_(std::move(save), &stacks),
        complete_(std::move(complete)) {}

  /// No record has a user stack: a program that Overdue starts need not wait until it is followed.
  void use_names_only() { names_only_ = true; }
  void while_waiting(const std::function<void()>& meanwhile) override {
    stacks_.while_waiting(meanwhile);
    view_.while_waiting(meanwhile);
  }
  void take_python(const LearnPython& learn) override { stacks_.take_python(learn); }
  void add_names(Names& names) const override { stacks_.add_names(names); }
  void begin(const SessionInfo& info) override {
    names_ = info.names;
    if (names_only_)
      to_begin_ = info;
    else
      stacks_.begin(info);
    view_.begin(info);
    hand_names_on();
    saver_.begin(info);
  }
  void record(const Record& record) override {
    if (has_user_stack(record)) stacks_.will_name(record.header().pid);
    view_.record(record);
    saver_.record(record);
  }
  void add_to(std::vector<pollfd>& waits) const override { view_.add_to(waits); }
  void polled() override {
    if (to_begin_) {
      stacks_.begin(*to_begin_);
      to_begin_.reset();
    }
    stacks_.follow();
    hand_names_on();
    view_.polled();
  }
  bool wants_receipts() const override { return view_.wants_receipts(); }
  void so_far(const SessionInfo& info, const Receipt& receipt) override {
    view_.so_far(info, receipt);
  }
  bool wants_stop() const override { return view_.wants_stop(); }
  bool has_quit() const override { return view_.has_quit(); }
  void ending() override { view_.ending(); }
  void interval(const SessionInfo& info, Duration wall) override { view_.interval(info, wall); }
  void tick() override {
    view_.tick();
    saver_.flush();
  }
  void settle() override { view_.settle(); }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    SessionInfo reported = info;
    for (std::string& note : stacks_.notes()) reported.notes.push_back(std::move(note));
    if (complete_) complete_(reported);
    view_.end(reported, receipt);
    saver_.end(reported, receipt);
  }
  std::uint64_t bytes_written() const { return saver_.bytes_written(); }

 private:
  static bool has_user_stack(const Record& record) {
    const std::uint16_t kind = record.schema->id;
    if (kind == RECORD_SPAN) return (record.as<span_record>().flags & SPAN_HAS_USER_STACK) != 0;
    return kind == RECORD_WAIT_STACK || kind == RECORD_PROFILE_SAMPLE;
  }
  void hand_names_on() {
    if (stacks_.add_new_names(names_)) view_.use_names(names_);
  }

  MeasureListener& view_;
  LiveStacks& stacks_;
  TraceSaver saver_;
  Names names_;
  bool names_only_ = false;
  std::optional<SessionInfo> to_begin_;
  std::function<void(SessionInfo&)> complete_;
};

}  // namespace overdue
