#include "source/measure.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "kernel/features.h"

namespace overdue {
namespace {

/// A probe set without probes, as if no hook ever ran.
class DeadProbeSet final : public ProbeSet {
 public:
  explicit DeadProbeSet(bool sees_any_program) : sees_any_program_(sees_any_program) {}
  std::string_view purpose() const override { return "measure nothing"; }
  Support support(const Kernel&) const override { return {}; }
  std::size_t ring_bytes() const override { return 0; }
  void add_to(Session&, const Kernel&, const std::vector<std::uint32_t>&) override {}
  std::uint64_t events_in(const Record&) const override { return 1; }
  bool sees_any_program() const override { return sees_any_program_; }
  Duration poll_every() const override { return std::chrono::milliseconds(100); }
  void end_threads() noexcept override { ++ended; }

  int ended = 0;

 private:
  bool sees_any_program_;
};

/// Records whether spans could begin before the session.
class CalibratedProbe final : public LiveProbe {
 public:
  explicit CalibratedProbe(bool& was_calibrated) : was_calibrated_(was_calibrated) {}
  void finish(KernelTime, const RecordHandler&) override {}
  const Schema* schema(std::uint16_t) const override { return nullptr; }
  Counters counters() const override { return {}; }
  void begin_calibration() override { was_calibrated_ = true; }

 private:
  bool& was_calibrated_;
};

class BareProbeSet final : public ProbeSet {
 public:
  std::string_view purpose() const override { return "see what is asked of a probe"; }
  Support support(const Kernel&) const override { return {}; }
  std::size_t ring_bytes() const override { return 0; }
  void add_to(Session& session, const Kernel&, const std::vector<std::uint32_t>&) override {
    session.add(std::make_unique<CalibratedProbe>(was_calibrated));
  }
  std::uint64_t events_in(const Record&) const override { return 1; }
  Duration poll_every() const override { return std::chrono::milliseconds(10); }

  bool was_calibrated = false;
};

struct Listener final : MeasureListener {
  void begin(const SessionInfo&) override {}
  void record(const Record&) override {}
  void interval(const SessionInfo&, Duration) override {}
  void tick() override {}
  void end(const SessionInfo& info, const Receipt&) override { notes = info.notes; }

  std::vector<std::string> notes;
};

struct FailingListener final : MeasureListener {
  void begin(const SessionInfo&) override {}
  void record(const Record&) override {}
  void interval(const SessionInfo&, Duration) override {}
  void tick() override { throw Error("no more room"); }
  void end(const SessionInfo&, const Receipt&) override {}
};

bool says_that_hooks_do_not_run(bool sees_any_program, const std::vector<std::uint32_t>& cpus) {
  MeasureRequest request;
  request.command = "test";
  request.inherited = InheritedState::current();
  request.selection = parse_target({.command = {"true"}});
  request.selection.cpus = cpus;
  request.quiet = true;
  DeadProbeSet probe_set(sees_any_program);
  Listener listener;
  EXPECT_EQ(measure(request, Kernel(), probe_set, listener), 0);
  return std::ranges::any_of(listener.notes, [](const std::string& note) {
    return note.starts_with("Overdue saw no event of the program");
  });
}

/// Runs `answer` in a child: a process that has measured has no rights to attach any more.
bool in_another_process(const std::function<bool()>& answer) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(answer() ? 1 : 0);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      _exit(2);
    }
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << "status " << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

TEST(Measure, SaysThatNoHookRanForAProgramThatItStarted) {
  if (const Support allowed = Kernel().privileges(); !allowed.yes) GTEST_SKIP() << allowed.missing;
  const auto says = [](bool sees_any_program, const std::vector<std::uint32_t>& cpus) {
    return in_another_process([&] {
      return says_that_hooks_do_not_run(sees_any_program, cpus) && !::testing::Test::HasFailure();
    });
  };
  EXPECT_TRUE(says(true, {}));
  EXPECT_FALSE(says(false, {})) << "the program may have made none of these";
  EXPECT_FALSE(says(true, {0})) << "it may have run elsewhere";
}

/// Spans of a calibration do not belong to the session: a bar that such a span raised kept windows
/// of `worst` out.
TEST(Measure, ArmsNothingBeforeTheSessionBegins) {
  if (const Support allowed = Kernel().privileges(); !allowed.yes) GTEST_SKIP() << allowed.missing;
  EXPECT_FALSE(in_another_process([] {
    MeasureRequest request;
    request.command = "test";
    request.selection = parse_target({.all = true});
    request.duration = std::chrono::milliseconds(20);
    request.quiet = true;
    BareProbeSet probe_set;
    Listener listener;
    measure(request, Kernel(), probe_set, listener);
    return probe_set.was_calibrated;
  }));
}

/// The threads write to memory that ends with the session.
TEST(Measure, ThreadsOfOursEndBeforeTheSessionAlsoAfterAFailure) {
  if (const Support allowed = Kernel().privileges(); !allowed.yes) GTEST_SKIP() << allowed.missing;
  MeasureRequest request;
  request.command = "test";
  request.selection = parse_target({.all = true});
  request.duration = std::chrono::seconds(10);
  request.quiet = true;
  DeadProbeSet probe_set(false);
  FailingListener listener;
  EXPECT_THROW(measure(request, Kernel(), probe_set, listener), Error);
  EXPECT_EQ(probe_set.ended, 1);
}

}  // namespace
}  // namespace overdue
