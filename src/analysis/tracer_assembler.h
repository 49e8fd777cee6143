#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace overdue {

/// Makes records of what one of the kernel's tracers prints into `trace_pipe`: whose lines mean
/// what is each one's own. Bounded, whatever it is given: of a line up to 4096 bytes are kept.
class TracerAssembler {
 public:
  virtual ~TracerAssembler() = default;

  /// What is to be added to the trace's clock for CLOCK_MONOTONIC; from the next record on.
  void set_clock_offset(std::int64_t ns) { offset_ns_ = ns; }
  /// What began before or later (CLOCK_MONOTONIC) is none of ours, but for what stopped the run.
  void set_begin(std::uint64_t ns) { begin_ns_ = ns; }
  void set_end(std::uint64_t ns) { end_ns_ = ns; }
  /// Whose lines of `trace_marker` come by: with their number and time on the trace's clock.
  void on_mark(std::function<void(std::uint64_t id, std::uint64_t time_ns)> seen) {
    mark_ = std::move(seen);
  }

  /// The next bytes of the pipe, cut anywhere.
  void feed(std::string_view bytes);
  /// There is nothing behind them: what is complete is told of.
  virtual void finish() = 0;

  std::uint64_t lost() const { return counts_.lost; }            ///< events, of any kind
  std::uint64_t unmatched() const { return counts_.unmatched; }  ///< without others, or not told of
  std::uint64_t cut() const { return counts_.cut; }              ///< begun, and not ended
  /// Lines that say nothing that is known: cut, or broken by a thread's name.
  std::uint64_t unread() const { return counts_.unread; }
  bool stopped() const { return stopped_; }  ///< something was over a limit, and is marked so

 protected:
  struct Counts {
    std::uint64_t lost = 0, unmatched = 0, cut = 0, unread = 0;
  };

  /// One, without its newline; longer ones are cut.
  virtual void line(std::string_view text) = 0;
  void marked(std::uint64_t id, std::uint64_t time_ns) const {
    if (mark_) mark_(id, time_ns);
  }
  void set_stopped() { stopped_ = true; }
  /// CLOCK_MONOTONIC of the trace's clock; 0 of what was before that began.
  std::uint64_t monotonic(std::uint64_t trace_ns) const;
  std::uint64_t begin_ns() const { return begin_ns_; }
  std::uint64_t end_ns() const { return end_ns_; }

  Counts counts_;

 private:
  std::function<void(std::uint64_t, std::uint64_t)> mark_;
  std::string rest_;  ///< of a line that has not ended
  std::int64_t offset_ns_ = 0;
  std::uint64_t begin_ns_ = 0, end_ns_ = UINT64_MAX;
  bool stopped_ = false;
};

}  // namespace overdue
