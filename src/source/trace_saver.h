#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/probe.h"
#include "core/recorded_stacks.h"
#include "source/listener.h"
#include "trace/writer.h"

namespace overdue {

/// `--save FILE`: writes a session into a trace file, with the names of its stacks. Does nothing
/// without a file; `-` is standard output. Used by one thread. Throws Error if the file cannot be
/// written.
class TraceSaver {
 public:
  /// `namer` must outlive this object; if null, records are written as they come. `schemas`: those
  /// of all records that may come.
  TraceSaver(std::string file, StackNamer* namer,
             std::span<const Schema* const> schemas = all_schemas())
      : file_(std::move(file)), namer_(namer), schemas_(schemas.begin(), schemas.end()) {}

  /// Opens the file only now: a session that cannot begin must not destroy an older recording.
  void begin(const SessionInfo& info);
  void record(const Record& record);
  void flush();
  void end(const SessionInfo& info, const Receipt& receipt);
  std::uint64_t bytes_written() const { return trace_ ? trace_->bytes_written() : 0; }

 private:
  std::string file_;
  StackNamer* namer_;
  std::vector<const Schema*> schemas_;
  std::optional<TraceWriter> trace_;
  std::optional<StackRecorder> recorder_;
};

/// Hands all calls on to another listener, and saves the records.
class SavingListener final : public MeasureListener {
 public:
  /// `listener` must outlive this object; the others are TraceSaver's.
  SavingListener(MeasureListener& listener, std::string file, StackNamer* namer,
                 std::span<const Schema* const> schemas = all_schemas())
      : listener_(listener), saver_(std::move(file), namer, schemas) {}

  void begin(const SessionInfo& info) override {
    listener_.begin(info);
    saver_.begin(info);
  }
  void record(const Record& record) override {
    listener_.record(record);
    saver_.record(record);
  }
  void while_waiting(const std::function<void()>& meanwhile) override {
    listener_.while_waiting(meanwhile);
  }
  void polled() override { listener_.polled(); }
  void interval(const SessionInfo& info, Duration wall) override { listener_.interval(info, wall); }
  void tick() override {
    listener_.tick();
    saver_.flush();
  }
  bool wants_stop() const override { return listener_.wants_stop(); }
  void settle() override { listener_.settle(); }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    listener_.end(info, receipt);
    saver_.end(info, receipt);
  }
  std::uint64_t bytes_written() const { return saver_.bytes_written(); }

 private:
  MeasureListener& listener_;
  TraceSaver saver_;
};

}  // namespace overdue
