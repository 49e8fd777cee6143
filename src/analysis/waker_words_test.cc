#include "analysis/waker_words.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

namespace overdue {
namespace {

/// Innermost first.
Stack stack_of(std::initializer_list<std::string_view> names) {
  Stack stack;
  for (const std::string_view name : names) stack.push_back({.name = std::string(name)});
  return stack;
}

RawWaker in_net_rx() {
  RawWaker waker;
  waker.context = WAKER_SOFTIRQ;
  waker.number = 3;
  return waker;
}

TEST(OwnCall, IsWhereTheSendersCallEmptiesTheQueue) {
  EXPECT_TRUE(ran_in_own_call(
      in_net_rx(), stack_of({"try_to_wake_up", "sock_def_readable", "tcp_rcv_established",
                             "process_backlog", "net_rx_action", "handle_softirqs", "do_softirq",
                             "__local_bh_enable_ip", "__dev_queue_xmit", "tcp_sendmsg"})));
}

TEST(OwnCall, IsNotWhereAnInterruptCameFirst) {
  EXPECT_FALSE(ran_in_own_call(
      in_net_rx(), stack_of({"try_to_wake_up", "process_backlog", "net_rx_action", "__irq_exit_rcu",
                             "asm_common_interrupt", "__local_bh_enable_ip", "tcp_sendmsg"})));
  EXPECT_FALSE(ran_in_own_call(in_net_rx(),
                               stack_of({"try_to_wake_up", "process_backlog", "run_ksoftirqd"})));
}

TEST(OwnCall, IsNotWhereACallThatSendsNothingEnablesSoftirqs) {
  EXPECT_FALSE(ran_in_own_call(
      in_net_rx(), stack_of({"try_to_wake_up", "process_backlog", "net_rx_action", "do_softirq",
                             "__local_bh_enable_ip", "fpu_clone", "do_syscall_64"})));
}

TEST(OwnCall, IsNotWhatADeviceBrought) {
  EXPECT_FALSE(
      ran_in_own_call(in_net_rx(), stack_of({"try_to_wake_up", "virtnet_poll", "net_rx_action",
                                             "__local_bh_enable_ip", "tcp_sendmsg"})));
}

TEST(Interrupted, IsACallThatASignalWakesForNothing) {
  const Stack signal = stack_of({"try_to_wake_up", "complete_signal", "do_send_sig_info"});
  EXPECT_TRUE(is_interrupted(stack_of({"wait_woken", "sk_wait_data"}), signal));
  EXPECT_FALSE(is_interrupted(stack_of({"do_wait", "kernel_wait4"}), signal));
  EXPECT_FALSE(is_interrupted(stack_of({"sigsuspend", "do_syscall_64"}), signal));
  EXPECT_FALSE(is_interrupted(stack_of({"wait_woken", "sk_wait_data"}),
                              stack_of({"try_to_wake_up", "sock_def_readable"})));
}

TEST(OwnCall, IsOfTheNetworkOnly) {
  const Stack stack = stack_of({"process_backlog", "__local_bh_enable_ip"});
  RawWaker waker = in_net_rx();
  EXPECT_TRUE(ran_in_own_call(waker, stack));
  waker.number = 1;
  EXPECT_FALSE(ran_in_own_call(waker, stack));
  waker = in_net_rx();
  waker.context = WAKER_IRQ;
  EXPECT_FALSE(ran_in_own_call(waker, stack));
  EXPECT_FALSE(ran_in_own_call(in_net_rx(), {}));
}

TEST(InterruptMeaning, IsInItsFunctions) {
  EXPECT_EQ(interrupt_meaning(stack_of({"try_to_wake_up", "hrtimer_wakeup", "hrtimer_interrupt"})),
            "timeout");
  EXPECT_EQ(interrupt_meaning(stack_of({"try_to_wake_up", "process_timeout", "call_timer_fn"})),
            "timeout");
  EXPECT_EQ(interrupt_meaning(stack_of({"try_to_wake_up", "bio_endio.part.0", "virtblk_done"})),
            "disk completion");
  EXPECT_EQ(interrupt_meaning(stack_of({"try_to_wake_up", "bio_endio", "common_interrupt",
                                        "process_timeout", "call_timer_fn"})),
            "disk completion")
      << "a timer's soft interrupt was only interrupted";
  EXPECT_EQ(interrupt_meaning(stack_of({"try_to_wake_up", "it_real_fn"})), "");
  EXPECT_EQ(interrupt_meaning({}), "");
}

TEST(InterruptThread, IsOfADevice) {
  EXPECT_TRUE(is_interrupt_thread(
      stack_of({"try_to_wake_up", "blk_mq_end_request", "irq_forced_thread_fn", "irq_thread"})));
  EXPECT_FALSE(is_interrupt_thread(stack_of({"try_to_wake_up", "worker_thread", "kthread"})));
}

TEST(StopMeaning, IsInTheFunctionsOfBothThreads) {
  const Stack thawing = stack_of({"try_to_wake_up", "cgroup_freeze_task", "cgroup_do_freeze"});
  const Stack trap = stack_of({"do_freezer_trap", "get_signal", "arch_do_signal_or_restart"});
  const Stack inlined = stack_of({"get_signal", "arch_do_signal_or_restart"});
  EXPECT_EQ(stop_meaning(trap, {}), "frozen");
  EXPECT_EQ(stop_meaning(inlined, thawing), "frozen");
  EXPECT_EQ(stop_meaning(inlined, {}), "") << "another compiler may inline do_signal_stop() there";
  EXPECT_EQ(stop_meaning(stack_of({"pipe_read"}), thawing), "") << "freezing ends a wait, too";
  EXPECT_EQ(stop_meaning(stack_of({"do_signal_stop", "get_signal"}), {}), "stopped");
}

TEST(SignalText, IsWhatPeopleCallIt) {
  EXPECT_EQ(signal_text(19), "SIGSTOP");
  EXPECT_EQ(signal_text(34), "SIGRTMIN");
  EXPECT_EQ(signal_text(40), "SIGRTMIN+6");
  EXPECT_EQ(signal_text(0), "signal 0");
  EXPECT_EQ(signal_text(33), "signal 33");
  EXPECT_EQ(signal_text(4'000'000'000), "signal 4000000000");
}

TEST(WayBack, IsBehindTheEndOfACall) {
  for (const auto& stack :
       {stack_of({"schedule", "do_signal_stop", "get_signal", "arch_do_signal_or_restart",
                  "exit_to_user_mode_prepare", "syscall_exit_to_user_mode", "do_syscall_64"}),
        stack_of({"ptrace_stop", "ptrace_notify", "syscall_exit_work", "do_syscall_64"}),
        stack_of({"ptrace_stop", "ptrace_do_notify", "ptrace_notify", "do_syscall_64", "entry"})})
    EXPECT_TRUE(is_way_back(stack));
}

TEST(WayBack, IsNotWithinACallNorOutsideOfOne) {
  for (const auto& stack :
       {stack_of({"schedule", "pipe_read", "ksys_read", "do_syscall_64"}),
        stack_of({"schedule", "exit_to_user_mode_loop", "asm_sysvec_apic_timer_interrupt"}),
        stack_of({"ptrace_stop", "ptrace_report_syscall_entry", "do_syscall_64"}), Stack{}})
    EXPECT_FALSE(is_way_back(stack));
}

}  // namespace
}  // namespace overdue
