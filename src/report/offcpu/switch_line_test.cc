#include "report/offcpu/switch_line.h"

#include <gtest/gtest.h>

namespace overdue::switch_line_test {
namespace {

using Kind = SwitchEvent::Kind;

SwitchEvent parsed(std::string_view line) {
  const auto event = parse_switch_line(line);
  EXPECT_TRUE(event) << line;
  return event.value_or(SwitchEvent{});
}

TEST(SwitchLine, SwitchWithNumbersAlone) {
  const SwitchEvent event =
      parsed("<...>-33233  [020] 6907585.873083: sched_switch: 33233:110:S ==> 0:120: swapper/20");
  EXPECT_EQ(event.kind, Kind::switched);
  EXPECT_EQ(event.time_ns, 6907585'873083'000ULL);
  EXPECT_EQ(event.cpu, 20U);
  EXPECT_EQ(event.prev_tid, 33233U);
  EXPECT_EQ(event.prev_comm, "");
  EXPECT_EQ(event.prev_state, "S");
  EXPECT_EQ(event.tid, 0U);
  EXPECT_EQ(event.comm, "swapper/20");
}

TEST(SwitchLine, SwitchWithNamesOfFields) {
  const SwitchEvent event = parsed(
      "            bash-1998  [000] d..3   136.677018: sched_switch: prev_comm=bash prev_pid=1998 "
      "prev_prio=120 prev_state=R+ ==> next_comm=kworker/0:1 next_pid=59 next_prio=120");
  EXPECT_EQ(event.time_ns, 136'677018'000ULL);
  EXPECT_EQ(event.prev_comm, "bash");
  EXPECT_EQ(event.prev_tid, 1998U);
  EXPECT_EQ(event.prev_state, "R+");
  EXPECT_EQ(event.comm, "kworker/0:1");
  EXPECT_EQ(event.tid, 59U);
}

TEST(SwitchLine, NamesThatLookLikeFields) {
  const SwitchEvent event = parsed(
      "x-7 [001] d..3 1.000001: sched_switch: prev_comm=a prev_pid=9 prev_pid=7 prev_prio=120 "
      "prev_state=S ==> next_comm=b ==> next_comm=c next_pid=8 next_prio=120");
  EXPECT_EQ(event.prev_tid, 7U);
  EXPECT_EQ(event.tid, 8U);
}

TEST(SwitchLine, SwitchOfTraceCmdAndOfPerf) {
  SwitchEvent event = parsed(
      "  kworker/3:1-71    [003]  1234.567890: sched_switch:         kworker/3:1:71 [120] S ==> "
      "swapper/3:0 [120]");
  EXPECT_EQ(event.prev_comm, "kworker/3:1");
  EXPECT_EQ(event.prev_tid, 71U);
  EXPECT_EQ(event.prev_state, "S");
  EXPECT_EQ(event.comm, "swapper/3");
  event = parsed(
      "Web Content  4711 [002] 12345.678901:       sched:sched_switch: Web Content:4711 [120] R "
      "==> "
      "migration/2:25 [0]");
  EXPECT_EQ(event.time_ns, 12345'678901'000ULL);
  EXPECT_EQ(event.cpu, 2U);
  EXPECT_EQ(event.prev_comm, "Web Content");
  EXPECT_EQ(event.tid, 25U);
  event = parsed(
      "java  33233/33240 [002] 12345.678901: sched:sched_switch: prev_comm=java prev_pid=33240 "
      "prev_prio=120 prev_state=D ==> next_comm=swapper/2 next_pid=0 next_prio=120");
  EXPECT_EQ(event.prev_tid, 33240U);
  EXPECT_EQ(event.prev_state, "D");
}

TEST(SwitchLine, WakeUps) {
  SwitchEvent event = parsed(
      "<idle>-0 [001] dNh4. 55.000100: sched_wakeup: comm=java pid=33233 prio=110 target_cpu=001");
  EXPECT_EQ(event.kind, Kind::woken);
  EXPECT_EQ(event.tid, 33233U);
  event = parsed("bash-5 [001] 55.000100: sched_waking: java:33233 [110] CPU:001");
  EXPECT_EQ(event.tid, 33233U);
  EXPECT_EQ(event.comm, "java");
}

TEST(SwitchLine, LostEvents) {
  const SwitchEvent event = parsed("CPU:3 [LOST 52 EVENTS]");
  EXPECT_EQ(event.kind, Kind::lost);
  EXPECT_EQ(event.cpu, 3U);
  EXPECT_EQ(event.count, 52U);
}

TEST(SwitchLine, OthersAreLeftOut) {
  for (const std::string_view line :
       {"", "# tracer: nop", "sched_switch:", "a-1 [000] 1.0: sched_switch: ", "[[[ sched_switch:",
        "a-1 [000] 1.000001: sched_switch: 1:2:S ==> x",
        "a-1 [000] now: sched_switch: 1:1:S ==> 2:1: b",
        "a-1 [000] 99999999999999999999.1: sched_switch: 1:1:S ==> 2:1: b",
        "a-1 [000] 1.0000000001: sched_switch: 1:1:S ==> 2:1: b",
        "a-1 [99999999999] 1.000001: sched_switch: 1:1:S ==> 2:1: b",
        "a-1 [000] 1.000001: sched_switch: prev_comm=a ==> next_comm=b", "CPU:x [LOST 5 EVENTS]",
        "a-1 [000] 1.000001: irq_handler_entry: irq=5 name=x"})
    EXPECT_FALSE(parse_switch_line(line)) << line;
}

}  // namespace
}  // namespace overdue::switch_line_test
