// Windows assembled from records, and flags in the kernel's letters.
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "analysis/window_assembler.h"

namespace overdue {
namespace {

constexpr Schema of_window{.id = RECORD_WORST_WINDOW,
                           .name = "worst_window",
                           .size = sizeof(worst_window),
                           .fields = {},
                           .help = ""};
constexpr Schema of_event{.id = RECORD_WORST_EVENT,
                          .name = "worst_event",
                          .size = sizeof(worst_event),
                          .fields = {},
                          .help = ""};

/// Names address 1 as the function that runs a tracepoint's program, others as kernel functions.
class Names final : public StackNamer {
 public:
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    Stack stack;
    for (const std::uint64_t address : addresses) {
      const std::string name =
          address == 1 ? "bpf_trace_run1" : "function_" + std::to_string(address);
      stack.push_back({.address = address, .name = name, .is_kernel = true});
    }
    return stack;
  }
  UserStack user_stack(std::uint32_t, const user_registers&, const UserCopy&, KernelTime) override {
    return {};
  }
};

worst_window window_of(u64 begin_ns, u64 end_ns, u32 events) {
  worst_window window{};
  window.header.time_ns = end_ns;
  window.header.tid = window.header.pid = 77;
  std::memcpy(window.header.comm, "late", 4);
  window.begin_ns = begin_ns;
  window.queued_ns = begin_ns + 5;
  window.latency_ns = end_ns - begin_ns;
  window.static_prio = 110;
  window.prio = WORST_PRIO_DEADLINE;
  window.tracer = WORST_WAKEUP_DL;
  window.events = events;
  return window;
}

worst_event event_at(u64 time_ns, worst_event_kind kind, u32 preempt_count = 0x80000003,
                     u32 thread_flags = 0) {
  worst_event event{};
  event.header.time_ns = time_ns;
  event.event = static_cast<u16>(kind);
  event.flags = WORST_EVENT_HAS_COUNT;
  event.preempt_count = preempt_count;
  event.thread_flags = thread_flags;
  return event;
}

struct Assembling {
  Names names;
  std::vector<LatencyWindow> windows;
  WindowAssembler assembler{names, {.model = "desktop"}, [this](LatencyWindow one) {
                              windows.push_back(std::move(one));
                            }};

  void add(worst_window window, const std::vector<u64>& waking, const std::vector<u64>& end) {
    window.waking_frames = static_cast<u16>(waking.size());
    window.end_frames = static_cast<u16>(end.size());
    std::vector<u64> stacks = waking;
    stacks.insert(stacks.end(), end.begin(), end.end());
    std::vector<std::byte> bytes(sizeof window + 8 * stacks.size());
    std::memcpy(bytes.data(), &window, sizeof window);
    if (!stacks.empty())
      std::memcpy(bytes.data() + sizeof window, stacks.data(), 8 * stacks.size());
    assembler.record({&of_window, bytes});
  }
  void add(const worst_event& event) {
    assembler.record({&of_event, std::as_bytes(std::span(&event, 1))});
  }
};

TEST(WindowAssembler, PutsAWindowTogetherWhenItsLastEventHasCome) {
  Assembling it;
  it.add(window_of(1000, 5000, 2), {1, 20, 30}, {1, 40});
  it.add(event_at(1000, WORST_EVENT_WAKING));
  EXPECT_TRUE(it.windows.empty());
  it.add(event_at(5000, WORST_EVENT_SWITCH));
  ASSERT_EQ(it.windows.size(), 1u);
  const LatencyWindow& window = it.windows[0];
  EXPECT_EQ(window.tracer, "wakeup_dl");
  EXPECT_EQ(window.latency_ns, 4000u);
  EXPECT_EQ(window.queued_ns, 5u);
  EXPECT_EQ(window.thread.comm, "late");
  EXPECT_EQ(window.nice, -10);
  EXPECT_EQ(window.prio, -1);
  EXPECT_EQ(window.preemption, "desktop");
  ASSERT_EQ(window.waking_stack.size(), 2u);
  EXPECT_EQ(window.waking_stack[0].name, "function_20");
  ASSERT_EQ(window.end_stack.size(), 1u);
  EXPECT_EQ(window.end_stack[0].name, "function_40");
}

TEST(WindowAssembler, NumbersWindowsAndKeepsTheirEventsApart) {
  Assembling it;
  it.add(window_of(1000, 2000, 1), {}, {});
  it.add(event_at(1500, WORST_EVENT_WAKING));
  it.add(window_of(3000, 4000, 1), {}, {});
  it.add(event_at(3500, WORST_EVENT_WAKING));
  it.add(event_at(9999, WORST_EVENT_WAKING));  // of no window
  it.assembler.finish();
  ASSERT_EQ(it.windows.size(), 2u);
  EXPECT_EQ(it.windows[1].number, 2u);
  ASSERT_EQ(it.windows[1].events.size(), 1u);
  EXPECT_EQ(it.windows[1].events[0].time_ns, 3500u);
}

TEST(WindowAssembler, DeliversAWindowWhoseEventsDoNotAllCome) {
  Assembling it;
  it.add(window_of(1000, 2000, 5), {}, {});
  it.add(event_at(1500, WORST_EVENT_WAKING));
  it.assembler.finish();
  ASSERT_EQ(it.windows.size(), 1u);
  EXPECT_EQ(it.windows[0].events.size(), 1u);
}

TEST(WindowAssembler, BelievesNoNumberOfFrames) {
  Assembling it;
  worst_window window = window_of(1000, 2000, 0);
  window.waking_frames = window.end_frames = 60'000;
  const u64 stack[] = {20, 30};
  std::vector<std::byte> bytes(sizeof window + sizeof stack);
  std::memcpy(bytes.data(), &window, sizeof window);
  std::memcpy(bytes.data() + sizeof window, stack, sizeof stack);
  it.assembler.record({&of_window, bytes});
  it.assembler.record({&of_window, std::span(bytes).first(60)});
  it.assembler.finish();
  ASSERT_EQ(it.windows.size(), 2u);
  EXPECT_EQ(it.windows[0].waking_stack.size(), 2u);
  EXPECT_EQ(it.windows[1].waking_stack.size(), 0u);
}

TEST(WindowAssembler, TakesFromTheDepthWhatTracingAddsToIt) {
  Assembling it;
  it.add(window_of(1000, 5000, 2), {}, {});
  it.add(event_at(1000, WORST_EVENT_WAKING, 0x80010005));
  it.add(event_at(5000, WORST_EVENT_SWITCH, 0x80000003));  // 2 without tracing
  ASSERT_EQ(it.windows.size(), 1u);
  EXPECT_EQ(it.windows[0].events[0].flags, "d.h4");
  EXPECT_EQ(it.windows[0].events[1].flags, "d..2");
}

TEST(WindowFlags, AreThoseOfTheKernel) {
  const auto flags = [](worst_event_kind kind, u32 count, u32 thread_flags) {
    return window_flags(event_at(0, kind, count, thread_flags), 0, {});
  };
  EXPECT_EQ(flags(WORST_EVENT_SWITCH, 0x80000000, 0), "d...");
  EXPECT_EQ(flags(WORST_EVENT_SOFTIRQ_ENTRY, 0x80000100, 0), "..s.");
  EXPECT_EQ(flags(WORST_EVENT_SWITCH, 0x80000200, 0), "d...");  // softirqs only disabled
  EXPECT_EQ(flags(WORST_EVENT_IRQ_ENTRY, 0x80010000, 0), "d.h.");
  EXPECT_EQ(flags(WORST_EVENT_IRQ_ENTRY, 0x80010100, 0), "d.H.");
  EXPECT_EQ(flags(WORST_EVENT_IRQ_ENTRY, 0x80100000, 0), "d.z.");
  EXPECT_EQ(flags(WORST_EVENT_IRQ_ENTRY, 0x80110000, 0), "d.Z.");
  EXPECT_EQ(flags(WORST_EVENT_SWITCH, 0x00000001, 8), "dN.1");
  EXPECT_EQ(flags(WORST_EVENT_SWITCH, 0x80000001, 8), "dn.1");
  EXPECT_EQ(flags(WORST_EVENT_SWITCH, 0x00000001, 0), "dp.1");
  EXPECT_EQ(flags(WORST_EVENT_SWITCH, 0x8000000b, 0), "d..b");
}

TEST(WindowFlags, WithoutTheCountAreNotGuessed) {
  worst_event event = event_at(0, WORST_EVENT_SWITCH, 0, 8);
  event.flags = 0;
  EXPECT_EQ(window_flags(event, 0, {}), "dnXX");
}

TEST(WindowFlags, HaveLazyReschedulingWhereTheKernelHasIt) {
  const auto flag = [](u32 count, u32 thread_flags) {
    const Preemption lazy{.model = "lazy", .resched_bit = 4, .has_lazy = true};
    return window_flags(event_at(0, WORST_EVENT_SWITCH, count, thread_flags), 0, lazy)[1];
  };
  constexpr u32 due = 1u << 4, lazily = 1u << 5, folded = 0, not_folded = 0x80000000;
  EXPECT_EQ(flag(folded, due), 'N');
  EXPECT_EQ(flag(folded, due | lazily), 'B');
  EXPECT_EQ(flag(folded, lazily), 'L');
  EXPECT_EQ(flag(not_folded, due | lazily), 'b');
  EXPECT_EQ(flag(not_folded, lazily), 'l');
  EXPECT_EQ(flag(not_folded, 1u << 3), '.');
  EXPECT_EQ(window_flags(event_at(0, WORST_EVENT_SWITCH, not_folded, 1u << 4), 0, {})[1], '.');
}

}  // namespace
}  // namespace overdue
