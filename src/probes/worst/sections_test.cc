// Lower bounds of disabled interrupts and preemption. A BPF program disables them: a tracepoint
// runs it in a process of the test.
#include "probes/worst/sections.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "kernel/child_fixture.h"
#include "kernel/session.h"
#include "kernel/skeleton.h"
#include "symbols/kernel_symbols.h"

#include "spin_program.skel.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

constexpr int spins = 3;
constexpr Duration spin_length = 12ms;  // three ticks of a slow clock, one for certain

/// Makes the kernel spin in a process, in one of two places.
class Spinner {
 public:
  Spinner(std::uint32_t pid, bool interrupts_off) {
    bpf_->rodata->spinner_pid = pid;
    bpf_->rodata->spin_ns = static_cast<u64>(spin_length.count());
    bpf_->rodata->spin_turns = 1 << 23;
    bpf_->bss->spins_left = spins;
    bpf_program* const hook = interrupts_off ? bpf_->progs.spin_with_interrupts_off
                                             : bpf_->progs.spin_with_preemption_off;
    bpf_program__set_autoload(hook, true);
    bpf_.load();
    link_ = attach(hook);
  }
  bool has_spun() const { return __atomic_load_n(&bpf_->bss->spins_left, __ATOMIC_RELAXED) <= 0; }

 private:
  Skeleton<spin_program_bpf> bpf_{"spin_program"};
  Link link_;
};

struct Section {
  worst_window window{};
  std::vector<u64> stack{};
};

class Sections : public KernelTest {
 protected:
  enum class RingRoom { some, none };

  void measure(worst_tracer tracer, WorstOptions options, const MembershipRules& rules,
               u64 bar_ns = 0, RingRoom room = RingRoom::some) {
    const Support support = support_of_sections(tracer, Kernel());
    if (!support.yes) GTEST_SKIP() << support.missing;
    options.tracer = tracer;
    session = std::make_unique<Session>(rules, room == RingRoom::some ? std::size_t{1} << 20 : 0);
    auto made = std::make_unique<SectionsProbe>(options, session->membership().maps());
    probe = made.get();
    session->add(std::move(made));
    probe->raise_bar(bar_ns);
    session->arm();
  }
  void finish() {
    session->finish([this](const Record& record) {
      ASSERT_EQ(record.schema, &worst_window_schema);
      Section section{record.as<worst_window>()};
      const std::size_t frames = section.window.waking_frames + section.window.end_frames;
      for (std::size_t i = 0; i < frames; ++i)
        section.stack.push_back(record.at<u64>(sizeof(worst_window) + 8 * i));
      seen.push_back(std::move(section));
    });
  }
  /// Runs the child to its end while the kernel spins in it and the real-time thread wants its CPU.
  void spin_before(Child& urgent, Child& child, bool interrupts_off) {
    const Spinner spinner(child.pid(), interrupts_off);
    urgent.go();
    child.go();
    EXPECT_EQ(child.end(), 0);
    if (urgent.has_ended()) GTEST_SKIP() << "no real-time priorities here";
    finish();
    ASSERT_TRUE(spinner.has_spun());
    ASSERT_FALSE(seen.empty());
  }
  static MembershipRules only(std::uint32_t pid) {
    MembershipRules rules;
    rules.pids = {pid};
    return rules;
  }
  const Section& longest() const {
    return *std::max_element(seen.begin(), seen.end(), [](const Section& a, const Section& b) {
      return a.window.latency_ns < b.window.latency_ns;
    });
  }
  /// The functions in the stacks of the section's begin and end, each followed by a space.
  static std::string names_of(const Section& section) {
    static const KernelSymbols symbols = KernelSymbols::read();
    std::string names;
    for (const u64 address : section.stack) {
      const auto found = symbols.find(address);
      names += fmt::format("{} ", found ? found->symbol.name : "?");
    }
    return names;
  }

  std::unique_ptr<Session> session;
  SectionsProbe* probe = nullptr;
  std::vector<Section> seen;
};

TEST_F(Sections, WhatFindsNoRoomDoesNotHideShorterOnes) {
  constexpr unsigned turns = 4;
  measure(WORST_IRQSOFF, {.whole_machine = true, .keep = 1, .threshold = 1ms}, {}, 0,
          RingRoom::none);
  if (IsSkipped()) return;
  for (unsigned turn = 0; turn < turns; ++turn) {
    Child child([](Child&) {
      if (!run_on_cpu(0)) _exit(1);
      for (int i = 0; i < spins; ++i) usleep(1'000);
    });
    const Spinner spinner(child.pid(), true);
    child.go();
    EXPECT_EQ(child.end(), 0);
    ASSERT_TRUE(spinner.has_spun());
  }
  finish();
  EXPECT_TRUE(seen.empty());
  // All sections are equally long: a bar raised by the first one would let few of the others pass.
  EXPECT_GE(session->receipt().lost_by.at("ring_full"), turns * spins);
}

TEST_F(Sections, InterruptsThatAreOffAreFoundWithWhatHadThemOff) {
  Child child([](Child&) {
    if (!run_on_cpu(0)) _exit(1);
    for (int i = 0; i < spins; ++i) usleep(1'000);
  });
  measure(WORST_IRQSOFF, {.keep = 0, .threshold = 1ms}, only(child.pid()));
  if (IsSkipped()) return;
  const Spinner spinner(child.pid(), true);
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  ASSERT_TRUE(spinner.has_spun());
  ASSERT_FALSE(seen.empty());
  for (const Section& section : seen) {
    EXPECT_EQ(section.window.header.tid, child.pid());
    EXPECT_EQ(section.window.bound, WORST_BOUND_LATE_TIMER);
    EXPECT_EQ(section.window.tracer, WORST_IRQSOFF);
    EXPECT_GE(section.window.latency_ns, 1'000'000u);
    EXPECT_EQ(section.window.header.time_ns - section.window.begin_ns, section.window.latency_ns);
  }
  // The tick, every 10 ms at its slowest, had to wait. A hypervisor may delay it further.
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [](const Section& section) {
    return section.window.latency_ns >= 2'000'000u &&
           names_of(section).find(" do_nanosleep ") != std::string::npos;
  })) << names_of(longest());
  EXPECT_GE(probe->figures().longest_ns, longest().window.latency_ns);
  EXPECT_EQ(session->receipt().lost(), 0u);
}

/// A real-time thread that wants CPU 0 again and again; ends if it cannot become one.
void want_the_cpu(Child& self) {
  const sched_param param{.sched_priority = 10};
  const bool is_urgent = run_on_cpu(0) && sched_setscheduler(0, SCHED_FIFO, &param) == 0;
  self.step();
  if (!is_urgent) _exit(1);
  while (true) usleep(500);
}

TEST_F(Sections, PreemptionThatIsOffIsFoundWithWhatHadItOff) {
  Child urgent(want_the_cpu);
  urgent.run_step();  // has its priority before the child begins
  Child child([](Child&) {
    if (!run_on_cpu(0)) _exit(1);
    for (int i = 0; i < spins; ++i) {
      if (const pid_t grandchild = fork(); grandchild == 0)
        _exit(0);
      else
        waitpid(grandchild, nullptr, 0);
    }
  });
  measure(WORST_PREEMPTOFF, {.keep = 1}, only(child.pid()));
  if (!IsSkipped()) spin_before(urgent, child, false);
  if (IsSkipped() || HasFatalFailure()) return;
  // With keep = 1, each section is longer than the ones before.
  for (std::size_t i = 1; i < seen.size(); ++i)
    EXPECT_GT(seen[i].window.latency_ns, seen[i - 1].window.latency_ns);
  EXPECT_EQ(seen.back().window.bound, WORST_BOUND_LATE_SWITCH);
  EXPECT_GE(seen.back().window.latency_ns, static_cast<u64>(spin_length.count()) / 2);
  EXPECT_NE(names_of(seen.back()).find(" kernel_clone "), std::string::npos)
      << names_of(seen.back());
  EXPECT_EQ(probe->figures().longest_ns, seen.back().window.latency_ns);
  EXPECT_EQ(session->receipt().lost(), 0u);
}

/// The real-time thread's timer comes late and wakes it; the thread then waits for the child to
/// leave.
TEST_F(Sections, WhatFollowsALateInterruptIsOneStretchWithIt) {
  Child urgent(want_the_cpu);
  urgent.run_step();
  Child child([](Child&) {
    if (!run_on_cpu(0)) _exit(1);
    for (int i = 0; i < spins; ++i) usleep(1'000);
  });
  measure(WORST_PREEMPTIRQSOFF, {.keep = 0}, only(child.pid()));
  if (!IsSkipped()) spin_before(urgent, child, true);
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(longest().window.bound, WORST_BOUND_LATE_BOTH) << names_of(longest());
  EXPECT_GE(longest().window.latency_ns, static_cast<u64>(spin_length.count()) / 2);
  // The interrupt may come on the way to do_nanosleep().
  EXPECT_NE(names_of(longest()).find("_nanosleep "), std::string::npos) << names_of(longest());
  for (const Section& one : seen)
    for (const Section& other : seen) {
      if (&one == &other || one.window.header.cpu != other.window.header.cpu) continue;
      EXPECT_TRUE(one.window.header.time_ns <= other.window.begin_ns ||
                  other.window.header.time_ns <= one.window.begin_ns)
          << "a stretch is reported twice: " << names_of(one) << "and " << names_of(other);
    }
}

/// There is no bar here, since user space does not raise it.
TEST_F(Sections, OnlyTheLongestOfEachCpuSoFarAreTold) {
  constexpr std::size_t keep = 3;
  Child child([](Child&) {
    for (int i = 0; i < 300; ++i)
      if (const pid_t grandchild = fork(); grandchild == 0) {
        usleep(100);
        _exit(0);
      } else {
        waitpid(grandchild, nullptr, 0);
      }
  });
  MembershipRules everything;
  everything.all = true;
  measure(WORST_PREEMPTIRQSOFF, {.whole_machine = true, .keep = keep}, everything);
  if (IsSkipped()) return;
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  EXPECT_FALSE(seen.empty());
  EXPECT_LT(seen.size(), probe->figures().seen);
  std::map<u32, std::vector<u64>> of_cpu;
  for (const auto& one : seen) {
    std::vector<u64>& before = of_cpu[one.window.header.cpu];
    EXPECT_LT(std::ranges::count_if(before, [&](u64 ns) { return ns >= one.window.latency_ns; }),
              static_cast<std::ptrdiff_t>(keep));
    before.push_back(one.window.latency_ns);
  }
}

TEST_F(Sections, BelowTheBarNothingIsTold) {
  // Two threads want one CPU: at the end of its ticks it is asked to switch, whichever hook says
  // so.
  Child child([](Child&) {
    const OnCpu one(0);
    const auto compute = [] {
      const auto end = std::chrono::steady_clock::now() + 100ms;
      while (std::chrono::steady_clock::now() < end) continue;
    };
    std::thread other(compute);
    compute();
    other.join();
  });
  MembershipRules everything;
  everything.all = true;
  measure(WORST_PREEMPTIRQSOFF, {.whole_machine = true, .keep = 0}, everything, 3'600'000'000'000);
  if (IsSkipped()) return;
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  EXPECT_TRUE(seen.empty());
  EXPECT_GT(probe->figures().seen, 0u);
}

}  // namespace
}  // namespace overdue
