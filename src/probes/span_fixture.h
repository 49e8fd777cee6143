#pragma once

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/span_schema.h"
#include "kernel/child_fixture.h"
#include "kernel/session.h"
#include "kernel/span_probe.h"
#include "kernel/thresholds.h"
#include "probes/spans.h"

// For tests of span probes: a session of one probe that keeps every reported span.
namespace overdue {

struct SeenSpan {
  span_record record;
  std::vector<u64> frames;

  std::string text() const { return span_subject(record); }
  bool is(span_flags flag) const { return (record.flags & flag) != 0; }
};

class SpanTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    find_kernel_text();
    for (const span_kind kind : needs_) {
      const Support support = source_.support(kernel_, kind);
      if (!support.yes) GTEST_SKIP() << span_name(kind) << ": " << support.missing;
    }
  }
  /// The first of the kinds names the probe.
  explicit SpanTest(const std::vector<span_kind>& needs)
      : SpanTest(*span_source(needs.front()), needs) {}
  SpanTest(const SpanSource& source, std::vector<span_kind> needs)
      : source_(source), needs_(std::move(needs)) {}

  static MembershipRules everything() {
    MembershipRules rules;
    rules.all = true;
    return rules;
  }
  static MembershipRules only(std::uint32_t pid) {
    MembershipRules rules;
    rules.pids = {pid};
    return rules;
  }

  /// A session of this probe; of the whole machine if the rules say so.
  void measure(const MembershipRules& rules = everything(), SpanOptions options = {}) {
    options.whole_machine = rules.all;
    session_ = std::make_unique<Session>(rules, std::size_t{16} << 20);
    auto probe = source_.make(options, session_->membership().maps(), kernel_);
    probe_ = probe.get();
    session_->add(std::move(probe));
  }
  void want(span_kind kind, u64 threshold_ns) {
    set_threshold(session_->membership().control(), kind, Duration(threshold_ns));
  }
  void arm() { session_->arm(); }
  void poll() { session_->poll(handler()); }
  void finish() {
    session_->finish(handler());
    finished_ = KernelClock::now();
  }
  Receipt receipt() const { return session_->receipt(); }
  /// Runs of programs that the kernel left out; any machine may have some.
  u64 nested() const {
    const std::map<std::string, std::uint64_t> lost_by = receipt().lost_by;
    const auto found = lost_by.find("nested");
    return found == lost_by.end() ? 0 : found->second;
  }
  SpanProbe& probe() const { return *probe_; }

  /// The spans of a kind, in the order of their ends.
  std::vector<SeenSpan> of(span_kind kind) const {
    std::vector<SeenSpan> found;
    std::copy_if(seen_.begin(), seen_.end(), std::back_inserter(found),
                 [kind](const SeenSpan& span) { return span.record.span == kind; });
    return found;
  }
  std::vector<SeenSpan> of(span_kind kind, std::string_view text) const {
    std::vector<SeenSpan> found = of(kind);
    std::erase_if(found, [&](const SeenSpan& span) { return span.text() != text; });
    return found;
  }
  void forget() { seen_.clear(); }

  /// What every span promises: a size equal to that of its parts, a time in the session, a valid
  /// CPU.
  void expect_sound() const {
    for (const SeenSpan& span : seen_) {
      EXPECT_EQ(span.record.header.size, sizeof(span_record) + 8 * span.frames.size());
      EXPECT_GE(span.record.header.time_ns, session_->start().time_since_epoch().count());
      EXPECT_LE(span.record.header.time_ns, finished_.time_since_epoch().count());
      EXPECT_LT(span.record.header.cpu, possible_cpu_count());
      for (const u64 frame : span.frames) EXPECT_GT(frame, u64{1} << 63);
      if (!span.frames.empty() && text_end_ > 0) {
        EXPECT_TRUE(span.frames[0] >= text_begin_ && span.frames[0] < text_end_)
            << std::hex << span.frames[0] << " is in a program of ours";
      }
    }
  }

  const SpanSource& source_;
  Kernel kernel_;

 private:
  /// Range of the kernel's own code, from /proc/kallsyms; empty if /proc/kallsyms hides addresses.
  void find_kernel_text() {
    std::ifstream symbols("/proc/kallsyms");
    std::string type, name;
    for (u64 address = 0; symbols >> std::hex >> address >> type >> name;) {
      if (name == "_stext") text_begin_ = address;
      if (name == "_etext") text_end_ = address;
      if (text_begin_ > 0 && text_end_ > 0) return;
      symbols.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
  }

  RecordHandler handler() {
    return [this](const Record& record) {
      ASSERT_EQ(record.schema, &span_schema);
      SeenSpan span{record.as<span_record>(), {}};
      for (std::size_t i = 0; i < span.record.kernel_frames; ++i)
        span.frames.push_back(record.at<u64>(sizeof(span_record) + 8 * i));
      seen_.push_back(std::move(span));
    };
  }

  KernelTime finished_{};
  u64 text_begin_ = 0, text_end_ = 0;
  std::vector<span_kind> needs_;
  std::unique_ptr<Session> session_;
  SpanProbe* probe_ = nullptr;
  std::vector<SeenSpan> seen_;
};

}  // namespace overdue
