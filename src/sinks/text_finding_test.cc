// A finding in text, to the letter.
#include "sinks/text_finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/text_finding_fixture.h"

namespace overdue {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(FindingText, LeavesAddressesForVerbose) {
  Finding f = late_open();
  f.name = "write";
  f.arguments = {"fd=31", "buf=0x7f6038925000", "count=5", "stack=NULL"};
  EXPECT_THAT(text_of(f), HasSubstr("write(fd=31, count=5, …) = 7"));
  EXPECT_THAT(text_of(f, {.whole_stacks = true}),
              HasSubstr("write(fd=31, buf=0x7f6038925000, count=5, stack=NULL) = 7"));
}

TEST_F(FindingText, LeavesOutAThresholdThatWasSaid) {
  EXPECT_THAT(text_of(late_open()), HasSubstr("(threshold 2.00s)"));
  EXPECT_THAT(text_of(late_open(), {.threshold = false}), Not(HasSubstr("threshold")));
}

TEST_F(FindingText, ReadsAsSentences) {
  EXPECT_EQ(text_of(late_open()),
            "#1 00:01:40.000  openat(dirfd=AT_FDCWD, pathname=\"/x\") = 7  io-demo[5786]  2.31s "
            "(threshold 2.00s)\n"
            "  blocked       2.29s  ext4_create → jbd2_log_wait_commit (D), woken by "
            "jbd2/vda-8[203]\n"
            "    └ jbd2/vda-8[203] held it up: waited 2.27s in submit_bio_wait\n"
            "      └ irq 24 virtio1-req.0 ended that\n"
            "  run queue    12.0ms  behind kworker/u4:1[71]\n"
            "  on CPU       8.00ms\n"
            "  called from  main → create_files → openat\n");
}

TEST_F(FindingText, SaysByHowMuchAWaitThatWasMeantIsLate) {
  Finding f = late_open();
  f.purpose = {"work", "aeMain", 2'300'000'000};
  EXPECT_THAT(text_of(f), HasSubstr("\n  late by 10.0ms; the rest waited for work (aeMain)\n"));
  f.purpose.of = "time";
  EXPECT_THAT(text_of(f), HasSubstr("late by 10.0ms; the rest is the time that was asked for\n"));
  f.purpose.of = "unknown";
  EXPECT_THAT(text_of(f), HasSubstr("late by 10.0ms; the rest may have waited for work\n"));
  f.purpose.meant_ns = 0;
  EXPECT_THAT(text_of(f), Not(HasSubstr("late by")));
}

TEST_F(FindingText, ShowsWholeStacksIfAskedTo) {
  EXPECT_THAT(text_of(late_open(), {.whole_stacks = true}),
              HasSubstr("    └ jbd2/vda-8[203] held it up: waited 2.27s in submit_bio_wait\n"));
  EXPECT_THAT(text_of(late_open(), {.whole_stacks = true}),
              HasSubstr("      ext4_create+0x10\n      do_syscall_64+0x10\n    woken from\n"
                        "        wake_up+0x10\n"));
  EXPECT_THAT(text_of(late_open(), {.whole_stacks = true}),
              HasSubstr("      main+0x10 (/bin/io-demo)\n"));
}

TEST_F(FindingText, SaysWhereInTheSource) {
  EXPECT_THAT(
      text_of(with_lines()),
      HasSubstr("  called from  main → create_files → make_file(int) → openat, io_demo.cc:17\n"));
  EXPECT_THAT(text_of(with_lines(), {.whole_stacks = true}),
              HasSubstr("      std::invoke<int> (/bin/io-demo) /usr/include/c++/12/functional:111 "
                        "(inlined)\n"
                        "      make_file(int) (/bin/io-demo) /src/io_demo.cc:17 (inlined)\n"
                        "      create_files+0x10 (/bin/io-demo) /src/io_demo.cc:40\n"
                        "      main+0x10 (/bin/io-demo)\n"));
}

TEST_F(FindingText, MarksWhereFunctionsMayBeMissing) {
  Finding f = late_open();
  (*f.user_stack)[1].follows_gap = true;
  EXPECT_THAT(text_of(f), HasSubstr("  called from  main → create_files → … → openat\n"));
  EXPECT_THAT(text_of(f, {.whole_stacks = true}),
              HasSubstr("      openat+0x10 (/bin/io-demo)\n"
                        "      … (functions may be missing here)\n"
                        "      create_files+0x10 (/bin/io-demo)\n"));
  // Next to omitted functions, a gap has no second mark.
  f.user_stack->insert(f.user_stack->begin() + 1, 6, in_program("f"));
  (*f.user_stack)[7].follows_gap = true;
  EXPECT_THAT(text_of(f), HasSubstr("  called from  main → … → f → f → f → openat\n"));
}

TEST_F(FindingText, LeavesOutWhatIsNotKnown) {
  Finding f = late_open();
  f.waits[0].kernel_stack.clear();
  f.waits[0].waker.reset();
  f.waits[0].ran = {};
  f.chain[0].kernel_stack.clear();
  f.user_stack.reset();
  EXPECT_EQ(text_of(f),
            "#1 00:01:40.000  openat(dirfd=AT_FDCWD, pathname=\"/x\") = 7  io-demo[5786]  2.31s "
            "(threshold 2.00s)\n"
            "  blocked       2.29s  (D)\n"
            "    └ jbd2/vda-8[203] held it up: waited 2.27s\n"
            "      └ irq 24 virtio1-req.0 ended that\n"
            "  run queue    12.0ms\n"
            "  on CPU       8.00ms\n");
}

TEST_F(FindingText, TellsWhatAThreadOfTheChainWaitedForACpu) {
  Finding f = late_open();
  f.chain.resize(1);
  f.chain[0].runqueue_ns = 2'000'000'000;
  f.chain[0].ran.add({0, 9, "hog"}, 2'270'000'000);
  EXPECT_THAT(text_of(f),
              HasSubstr("└ jbd2/vda-8[203] held it up: waited 2.27s in submit_bio_wait, 2.00s "
                        "of that in the run queue behind hog[9]\n"));
  f.chain[0].user_stack = *f.user_stack;
  EXPECT_THAT(text_of(f), HasSubstr(" behind hog[9], called from main → create_files → openat\n"));
  f.chain[0].user_stack.clear();
  f.chain[0].what = "preempted";
  EXPECT_THAT(text_of(f), HasSubstr("└ jbd2/vda-8[203] held it up: was preempted for 2.27s in "
                                    "submit_bio_wait, by hog[9]\n"));
  f.chain[0].ran.add({0, 5, "make"}, 1'000'000'000);
  f.chain[0].ns = 3'270'000'000;
  EXPECT_THAT(text_of(f), HasSubstr("by hog[9] 2.27s, make[5] 1.00s\n"));
  f.chain[0].ns = 2'270'000'000;
  f.chain[0].what = "throttled";
  EXPECT_THAT(text_of(f), HasSubstr("└ jbd2/vda-8[203] held it up: was throttled for 2.27s in "
                                    "submit_bio_wait, by the CPU quota of a cgroup\n"));
  f.chain[0].throttle = Throttle{"/shop/\033api", 1, 20'000'000, 100'000'000};
  EXPECT_THAT(text_of(f), HasSubstr(R"(, by cgroup /shop/\x1bapi (20.0ms of each 100ms))"));
  f.chain[0].what = "unknown";
  f.chain[0].runqueue_ns = 0;
  EXPECT_THAT(text_of(f),
              HasSubstr("└ jbd2/vda-8[203] held it up: could run and did not for 2.27s in "
                        "submit_bio_wait\n"));
  f.chain[0] = {};
  f.chain[0].thread = {1, 2, "x"};
  f.chain[0].what = "ran";
  f.chain[0].is_thread = true;
  EXPECT_THAT(text_of(f), Not(HasSubstr("└"))) << "woken by it: said already";
  f.chain[0].is_cut = true;
  EXPECT_THAT(text_of(f), HasSubstr("└ x[2] ended that, and so on (cut)\n"));
}

TEST_F(FindingText, NamesEachQuotaWithItsShareOfTheThrottledTime) {
  Finding f = late_open();
  f.breakdown = Breakdown{{ShareKind::throttled, 2'310'000'000}};
  f.waits.assign(2, Wait{});
  f.waits[0].throttled_ns = 1'000'000'000;
  f.waits[0].throttle = Throttle{"/shop/db", 1, 50'000'000, 100'000'000};
  f.waits[1].throttled_ns = 1'310'000'000;
  f.waits[1].throttle = Throttle{"/shop/api", 2, 20'000'000, 100'000'000};
  EXPECT_THAT(text_of(f),
              HasSubstr("throttled     2.31s  by cgroup /shop/api (20.0ms of each 100ms) 1.31s, "
                        "by cgroup /shop/db (50.0ms of each 100ms) 1.00s\n"));
  f.waits[0].throttle = f.waits[1].throttle;
  EXPECT_THAT(text_of(f),
              HasSubstr("throttled     2.31s  by cgroup /shop/api (20.0ms of each 100ms)\n"));
  for (Wait& wait : f.waits) wait.throttle->of_real_time = true;
  EXPECT_THAT(text_of(f), HasSubstr("by cgroup /shop/api (20.0ms of each 100ms, real-time)\n"));
  for (Wait& wait : f.waits) wait.throttle->cgroup = "/";
  EXPECT_THAT(text_of(f), HasSubstr("by the limit of real-time threads (20.0ms of each 100ms)\n"));
}

TEST_F(FindingText, HasNoChainOfAWaitThatHardlyMattered) {
  Finding f = late_open();
  f.breakdown =
      Breakdown{{ShareKind::runqueue, 2'309'000'000}, {ShareKind::uninterruptible, 1'000'000}};
  f.waits[0].ns = f.latency_ns;
  f.waits[0].runqueue_ns = 2'309'000'000;
  f.places[0].blocked_ns = 1'000'000;
  EXPECT_THAT(text_of(f), Not(HasSubstr("└")));
  EXPECT_THAT(text_of(f),
              HasSubstr("run queue     2.31s  behind kworker/u4:1[71] 12.0ms, unknown 2.30s\n"));
}

TEST_F(FindingText, BlamesNoOtherSideThatHadReceivedNothing) {
  Finding f = late_open();
  f.object = CallObject{.kind = "socket", .remote = "10.0.0.1:80", .side = "client"};
  EXPECT_THAT(text_of(f), HasSubstr("held it up"));
  EXPECT_THAT(text_of(f), Not(HasSubstr("sent again")));
  f.object->resends = 2;
  f.object->resent_ns = f.latency_ns / 4;
  EXPECT_THAT(text_of(f), HasSubstr("held it up"));
  f.object->resent_ns = 2'000'000'000;
  EXPECT_THAT(text_of(f),
              HasSubstr("sent again 2 times within 2.00s: 10.0.0.1:80 did not acknowledge\n"));
  EXPECT_THAT(text_of(f), Not(HasSubstr("held it up")));
}

TEST_F(FindingText, ShowsThreePlacesAndWhatIsLeft) {
  Finding f = late_open();
  f.chain.clear();
  f.waits[0].state = "sleeping";
  f.waits[0].waker.reset();
  const WaitPlace one = f.places[0];
  f.places.clear();
  for (const std::uint64_t ms : {500U, 300U, 200U, 150U, 100U})
    f.places.emplace_back(one).blocked_ns = ms * 1'000'000;
  EXPECT_THAT(text_of(f), HasSubstr("  blocked       500ms  ext4_create → jbd2_log_wait_commit\n"
                                    "  blocked       300ms  ext4_create → jbd2_log_wait_commit\n"
                                    "  blocked       200ms  ext4_create → jbd2_log_wait_commit\n"
                                    "  blocked       1.29s  in 2 more waits, and shorter ones\n"));
  f.places.resize(2);
  EXPECT_THAT(text_of(f), HasSubstr("  blocked       1.49s  in waits without a record\n"));
}

TEST_F(FindingText, SaysHowOftenItWaitedInOnePlace) {
  Finding f = late_open();
  f.places[0].count = 1'200;
  f.places[0].longest_ns = 5'000'000;
  EXPECT_THAT(text_of(f),
              HasSubstr("  blocked       2.29s  1,200 times, 5.00ms at most: ext4_create → "
                        "jbd2_log_wait_commit (D), the longest was woken by "
                        "jbd2/vda-8[203]\n"
                        "    └ of the longest: jbd2/vda-8[203] held it up: waited"));
}

TEST_F(FindingText, TheLongestWaitOfAPlaceIsNoLongerThanAll) {
  Finding f = late_open();
  f.places[0].count = 2;
  f.places[0].blocked_ns = 2'290'000'000;
  f.places[0].longest_ns = f.waits[0].ns;  // with 12 ms in the run queue
  EXPECT_THAT(text_of(f), HasSubstr("  blocked       2.29s  2 times, 2.29s at most: "));
}

TEST_F(FindingText, NamesFailuresAndHangs) {
  Finding f = late_open();
  f.result = -2;
  f.error = "ENOENT";
  f.type = "hang";
  f.threshold_ns = 0;
  EXPECT_THAT(text_of(f), HasSubstr(") = -2 ENOENT  io-demo[5786]  open for 2.31s\n"));
  EXPECT_THAT(text_of(f), Not(HasSubstr("still")));
  f.state = "uninterruptible";
  EXPECT_THAT(text_of(f), HasSubstr("  still uninterruptible (D), for 2.30s now\n"));
  f.state = "traced";
  f.waits.resize(1);
  f.waits[0].tracer = ThreadName{0, 12, "gdb"};
  EXPECT_THAT(text_of(f), HasSubstr("  still traced by gdb[12], for "));
  f.span = "softirq";
  f.name = "NET_RX";
  EXPECT_THAT(text_of(f), HasSubstr("softirq NET_RX  io-demo[5786]"));
}

TEST_F(FindingText, EndsInWhatWasNotShown) {
  EXPECT_THAT(written("text", late_open(), many),
              HasSubstr("\n\n1,234 more like #3: fsync, 5.00s in all, longest 9.00ms\n\n"));
  Repeats one = many;
  one.count = 1;
  EXPECT_THAT(written("text", late_open(), one),
              HasSubstr("\n\n1 more like #3: fsync, 9.00ms\n\n"));
}

}  // namespace
}  // namespace overdue
