#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace overdue {

/// Makes records from the text that one of the kernel's tracers prints into `trace_pipe`. Derived
/// classes know the lines of a tracer. Bounded for any input: keeps up to 4096 bytes of a line.
class TracerAssembler {
 public:
  virtual ~TracerAssembler() = default;

  /// Sets CLOCK_MONOTONIC minus the trace's clock, in nanoseconds, from the next record on.
  void set_clock_offset(std::int64_t ns) { offset_ns_ = ns; }
  /// Activations that expire before the begin or after the end (CLOCK_MONOTONIC, in nanoseconds)
  /// are left out, except the one that stopped the run.
  void set_begin(std::uint64_t ns) { begin_ns_ = ns; }
  void set_end(std::uint64_t ns) { end_ns_ = ns; }
  /// Calls `seen` for each mark that Overdue wrote to `trace_marker`, with the mark's number and
  /// its time on the trace's clock.
  void on_mark(std::function<void(std::uint64_t id, std::uint64_t time_ns)> seen) {
    mark_ = std::move(seen);
  }

  /// Takes the next bytes of the pipe, cut anywhere.
  void feed(std::string_view bytes);
  /// Delivers the complete records: no more bytes will come.
  virtual void finish() = 0;

  std::uint64_t lost() const { return counts_.lost; }  ///< events of any kind
  /// Events without their counterpart, or that the records do not contain.
  std::uint64_t unmatched() const { return counts_.unmatched; }
  std::uint64_t cut() const { return counts_.cut; }  ///< activations begun but not ended
  /// Lines of unknown content: cut, or broken by a thread's name.
  std::uint64_t unread() const { return counts_.unread; }
  bool stopped() const { return stopped_; }  ///< a record was over a limit, and is marked

 protected:
  struct Counts {
    std::uint64_t lost = 0, unmatched = 0, cut = 0, unread = 0;
  };

  /// Takes one line without its newline; longer lines are cut to 4096 bytes.
  virtual void line(std::string_view text) = 0;
  void marked(std::uint64_t id, std::uint64_t time_ns) const {
    if (mark_) mark_(id, time_ns);
  }
  void set_stopped() { stopped_ = true; }
  /// Converts the trace's clock to CLOCK_MONOTONIC; 0 for times before CLOCK_MONOTONIC began.
  std::uint64_t monotonic(std::uint64_t trace_ns) const;
  std::uint64_t begin_ns() const { return begin_ns_; }
  std::uint64_t end_ns() const { return end_ns_; }

  Counts counts_;

 private:
  std::function<void(std::uint64_t, std::uint64_t)> mark_;
  std::string rest_;  ///< begin of a line that has not ended
  std::int64_t offset_ns_ = 0;
  std::uint64_t begin_ns_ = 0, end_ns_ = UINT64_MAX;
  bool stopped_ = false;
};

}  // namespace overdue
