// The waits of a finding in text, to the letter: who held the thread up, and who had the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/text_finding_fixture.h"

namespace overdue {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(FindingText, SaysAllThatAThreadOfTheChainDid) {
  Finding f = late_open();
  ChainLink& link = f.chain[0];
  f.chain.resize(1);
  link.during_ns = 2'290'000'000;
  link.ns = 1'000'000'000;
  link.places = {{"sleeping", 1'000'000'000, 10, link.kernel_stack}};
  link.ledger = Breakdown({{ShareKind::oncpu, 790'000'000},
                           {ShareKind::preempted, 100'000'000},
                           {ShareKind::sleeping, 1'000'000'000}},
                          400'000'000);
  EXPECT_THAT(text_of(f), HasSubstr("└ jbd2/vda-8[203] held it up: waited 1.00s, 10 times, in "
                                    "submit_bio_wait; ran 790ms; 400ms unknown\n"));
  link.what = "ran";
  link.ns = 790'000'000;
  link.kernel_stack.clear();
  link.places = {{"sleeping", 700'000'000, 7, f.waits[0].kernel_stack},
                 {"uninterruptible", 300'000'000, 3, {}},
                 {"preempted", 100'000'000, 1, {}}};
  link.places[2].ran.add({9, 9, "hog"}, 75'000'000);
  EXPECT_THAT(text_of(f),
              HasSubstr("└ jbd2/vda-8[203] held it up: ran 790ms; waited 1.00s, 700ms "
                        "of that in ext4_create → jbd2_log_wait_commit; 400ms unknown\n"));
  link.during_ns = 900'000'000;
  link.places[0].ns = 960'000'000;
  EXPECT_THAT(text_of(f),
              HasSubstr("ran 790ms; waited 1.00s in ext4_create → jbd2_log_wait_commit; was "
                        "preempted for 100ms, by hog[9] 75.0ms, unknown 25.0ms; "));
}

TEST_F(FindingText, SaysWhoHadTheCpu) {
  Finding f = late_open();
  CpuShares& ran = f.waits[0].ran;
  const auto part = [&] {
    const std::string text = text_of(f);
    const std::size_t at = text.find("  run queue");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(part(), "  run queue    12.0ms  behind kworker/u4:1[71]");
  ran = {};
  EXPECT_EQ(part(), "  run queue    12.0ms");
  ran.add({0, 0, "swapper/1"}, 3'000'000);
  EXPECT_EQ(part(), "  run queue    12.0ms  behind unknown 9.00ms, while the CPU idled 3.00ms");
  for (std::uint32_t tid = 1; tid < 6; ++tid) ran.add({0, tid, "t"}, tid * 500'000);
  ran.others_ns = 1'500'000;
  EXPECT_EQ(part(),
            "  run queue    12.0ms  behind t[5] 2.50ms, t[4] 2.00ms, t[3] 1.50ms, "
            "others 3.00ms, while the CPU idled 3.00ms");
}

TEST_F(FindingText, SaysWhereWhoRanWas) {
  Finding f = late_open();
  const auto place = [](std::uint64_t samples, std::string function) {
    return CpuPlace{samples, {in_program(std::move(function)), in_program("flush")}};
  };
  f.breakdown->of(ShareKind::oncpu).ns = 80'000'000;
  f.on_cpu = {26, {place(21, "crc_block"), place(3, "sort_names"), place(2, "hardly")}};
  EXPECT_THAT(text_of(f), HasSubstr("on CPU       80.0ms  81 % in crc_block ← flush, "
                                    "12 % in sort_names ← flush (26 samples)\n"));
  f.on_cpu = {1, {{1, {in_kernel("clear_page_erms")}}}};
  EXPECT_THAT(text_of(f), HasSubstr("on CPU       80.0ms  in clear_page_erms (1 sample)\n"));
  f.on_cpu = {40, {place(2, "everywhere"), place(1, "elsewhere")}};
  EXPECT_THAT(text_of(f), HasSubstr("80.0ms  5 % in everywhere ← flush (40 samples)\n"));
  f.on_cpu = {2, {{2, {}}}};
  EXPECT_THAT(text_of(f), HasSubstr("on CPU       80.0ms\n")) << "it is not known where";
  f.chain[0].what = "ran";
  f.chain[0].on_cpu = {4, {place(4, "crc_block")}};
  EXPECT_THAT(text_of(f), HasSubstr("ran 2.27s in submit_bio_wait, in crc_block ← flush (4 "
                                    "samples)"));
  f.waits[0].ran.threads[0].on_cpu = {2, {place(2, "crc_block")}};
  EXPECT_THAT(text_of(f),
              HasSubstr("behind kworker/u4:1[71]\n"
                        "    └ kworker/u4:1[71] ran in crc_block ← flush (2 samples)\n"));
}

TEST_F(FindingText, PrintsNothingOfOthersUnescaped) {
  Finding f = late_open();
  f.thread.comm = "a\033[2J";
  f.waits[0].waker->thread.comm = "b\nc";
  f.waits[0].ran.threads[0].thread.comm = "d\re";
  const std::string text = text_of(f);
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, HasSubstr("a\\x1b[2J[5786]"));
  EXPECT_THAT(text, HasSubstr("woken by b\\nc[203]"));
  EXPECT_THAT(text, HasSubstr("behind d\\x0de[71]"));
}

TEST_F(FindingText, SaysWhatAnInterruptStandsFor) {
  Finding f = late_open();
  f.chain.clear();
  f.waits[0].waker = Waker{.interrupted = {1, 2, "bystander"}, .context = "vector local_timer"};
  EXPECT_THAT(text_of(f), HasSubstr("(D), woken by vector local_timer\n"));
  f.waits[0].waker->means = "timeout";
  EXPECT_THAT(text_of(f), HasSubstr("(D), its timeout expired\n"));
  f.waits[0].waker->context = "irq 24 virtio1-req.0";
  f.waits[0].waker->means = "disk completion";
  EXPECT_THAT(text_of(f), HasSubstr("(D), woken by disk completion (irq 24 virtio1-req.0)\n"));
  f.waits[0].waker->disk = "vda";
  EXPECT_THAT(text_of(f), HasSubstr("woken by disk completion (vda, irq 24 virtio1-req.0)\n"));
  EXPECT_THAT(text_of(f), Not(HasSubstr("bystander")));
  f = late_open();
  EXPECT_THAT(text_of(f), HasSubstr("└ irq 24 virtio1-req.0 ended that\n"));
  f.chain[1].means = "disk completion";
  EXPECT_THAT(text_of(f), HasSubstr("└ disk completion (irq 24 virtio1-req.0) ended that\n"));
  f.chain[1].means = "timeout";
  EXPECT_THAT(text_of(f), HasSubstr("└ its timeout expired\n"));
}

TEST_F(FindingText, SaysWhatASignalDid) {
  Finding f = late_open();
  f.handler = SignalHandler{"SIGALRM", 7'000'000};
  EXPECT_THAT(text_of(f), HasSubstr("\n  7.00ms in the handler of SIGALRM\n"));
  f.waits[0].means = "stopped";
  EXPECT_THAT(text_of(f), HasSubstr(", stopped by a signal, "));
  f.waits[0].stop = StopSignal{"SIGTSTP", {}};
  EXPECT_THAT(text_of(f), HasSubstr(", stopped by SIGTSTP of the kernel, "));
  f.waits[0].stop->sender = ThreadName{1, 2, "a\nb"};
  EXPECT_THAT(text_of(f), HasSubstr(", stopped by SIGTSTP of a\\nb[2], "));
}

TEST_F(FindingText, SaysFromWhereAWakerWokeTheOther) {
  Finding f = late_open();
  f.chain[0].user_stack = f.chain[0].waking_stack = *f.user_stack;
  EXPECT_THAT(text_of(f), Not(HasSubstr("woke it from"))) << "where it waited says more";
  f.chain[0].user_stack.clear();
  EXPECT_THAT(text_of(f), HasSubstr("\n      and woke it from "));
  f.chain.resize(1);
  f.chain[0].what = "ran";
  f.chain[0].ns = 0;
  EXPECT_THAT(text_of(f), HasSubstr(fmt::format("\n      {}[{}] woke it from ",
                                                f.chain[0].thread.comm, f.chain[0].thread.tid)));
}

TEST_F(FindingText, SaysWhoWasNotKnown) {
  Finding f = late_open();
  f.waits[0].waker->thread = {0, 44, ""};
  f.waits[0].ran.threads[0].thread = ThreadName{};
  EXPECT_THAT(text_of(f), HasSubstr("woken by thread[44]"));
  f.waits[0].waker = Waker{.context = "unknown"};
  EXPECT_THAT(text_of(f), HasSubstr("jbd2_log_wait_commit (D)\n"));
  f.waits_forgotten = true;
  EXPECT_THAT(text_of(f), HasSubstr("(waits of its beginning were not kept)\n"));
}

}  // namespace
}  // namespace overdue
