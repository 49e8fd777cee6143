#include "analysis/timer_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/timer_fixture.h"

namespace overdue {
namespace {

using testing::HasSubstr;

constexpr int priority = 95;
const std::vector<std::string> in_module{"__hrtimer_run_queues", "asm_sysvec_apic_timer_interrupt",
                                         "delay_tsc", "dummy_load_1ms_pd_init", "do_one_initcall"};

TimerDiagnosis of(const Activation& activation, const std::vector<std::string>& functions = {}) {
  return diagnose(activation.cause(), functions, priority);
}

// The second example of the documentation: a module that waits a millisecond with preemption off.
TEST(TimerDiagnosis, BlamesDisabledPreemptionOnTheInterruptedThread) {
  Activation activation{2616,
                        861'000,
                        {noise(NOISE_THREAD, 1026, 500, 860'000, "insmod"),
                         local_timer(2600, 14'000), local_timer(363'000, 370'000)}};
  const TimerDiagnosis diagnosis = of(activation.interrupting(1026, "insmod"), in_module);
  EXPECT_EQ(diagnosis.cause, DelayCause::preemption_off);
  EXPECT_EQ(diagnosis.who, "insmod");
  EXPECT_THAT(diagnosis.text, HasSubstr("in delay_tsc, called from dummy_load_1ms_pd_init"));
}

TEST(TimerDiagnosis, BlamesInterferenceOnAThreadOfTheSamePriority) {
  const auto with_priority = [](int kernels) {
    return Activation{
        2000, 900'000, {noise(NOISE_THREAD, 77, 500, 899'000, "hog", static_cast<s16>(kernels))}};
  };
  for (const int equal_or_more : {99 - priority, 0, -1})
    EXPECT_EQ(of(with_priority(equal_or_more).interrupting(77, "hog")).cause,
              DelayCause::interference);
  EXPECT_EQ(of(with_priority(99 - priority + 1).interrupting(77, "hog")).cause,
            DelayCause::preemption_off);
  Activation activation = with_priority(120);
  EXPECT_EQ(of(activation.interrupting(5, "other")).cause, DelayCause::interference);
  EXPECT_THAT(of(activation).text, HasSubstr("thread hog (tid 77)"));
}

TEST(TimerDiagnosis, BlamesInterferenceOnSoftirqsAndInterrupts) {
  Activation activation{2000, 90'000, {noise(NOISE_SOFTIRQ, 3, 10'000, 80'000)}};
  TimerDiagnosis diagnosis = of(activation.interrupting(5, "other"));
  EXPECT_EQ(diagnosis.cause, DelayCause::interference);
  EXPECT_EQ(diagnosis.who, "NET_RX");
  EXPECT_EQ(diagnosis.ns, 70'000u);
  // The thread does not cause the delay by an interrupt before the timer's interrupt.
  Activation before{90'000, 95'000, {noise(NOISE_IRQ, 21, 900, 89'000, "qxl")}};
  diagnosis = of(before.interrupting(5, "other"));
  EXPECT_EQ(diagnosis.cause, DelayCause::interference);
  EXPECT_EQ(diagnosis.who, "qxl");
}

TEST(TimerDiagnosis, BlamesDisabledInterruptsOnTheThreadThatWasRunning) {
  Activation activation{500'000, 510'000, {noise(NOISE_THREAD, 9, 0, 509'000, "writer")}};
  activation.interrupting(9, "writer");
  const std::vector<std::string> functions{"asm_sysvec_apic_timer_interrupt",
                                           "_raw_spin_unlock_irqrestore", "free_pages"};
  TimerDiagnosis diagnosis = of(activation, functions);
  EXPECT_EQ(diagnosis.cause, DelayCause::irqs_off);
  EXPECT_EQ(diagnosis.ns, 499'000u);
  EXPECT_EQ(diagnosis.text,
            "interrupts were off for 499us while writer (tid 9) ran, in "
            "_raw_spin_unlock_irqrestore, called from free_pages");
  EXPECT_THAT(of(activation, in_module).text, HasSubstr("hypervisor"));
  activation.fixed.flags = ACTIVATION_USER_MODE;
  EXPECT_EQ(of(activation).cause, DelayCause::hardware);
  activation.fixed.flags = 0;
  activation.fixed.steal_ns = 480'000;
  diagnosis = of(activation, functions);
  EXPECT_EQ(diagnosis.cause, DelayCause::hardware);
  EXPECT_THAT(diagnosis.text, HasSubstr("a hypervisor says it took 480us"));
}

TEST(TimerDiagnosis, BlamesTheHardwareIfAllCpusStopped) {
  Activation activation{1500, 900'000, {local_timer(1400, 890'000)}};
  EXPECT_EQ(of(activation).cause, DelayCause::interference);
  const TimerDiagnosis diagnosis =
      diagnose(activation.cause(LatencyEnd::thread, 0, noise(NOISE_HARDWARE, 0, 2000, 888'000)), {},
               priority);
  EXPECT_EQ(diagnosis.cause, DelayCause::hardware);
  EXPECT_EQ(diagnosis.ns, 886'000u);
  EXPECT_EQ(diagnosis.text,
            "all CPUs that are measured were stopped at once, for 886us: hardware, firmware or a "
            "hypervisor did that");
}

TEST(TimerDiagnosis, BlamesDisabledInterruptsOnAThreadThatHasLeft) {
  Activation activation{500'000, 510'000, {noise(NOISE_THREAD, 21, 0, 499'000, "ksoftirqd/1")}};
  const TimerDiagnosis diagnosis = of(activation.interrupting(0, "swapper/1"));
  EXPECT_EQ(diagnosis.cause, DelayCause::irqs_off);
  EXPECT_EQ(diagnosis.who, "ksoftirqd/1");
  EXPECT_THAT(diagnosis.text,
              HasSubstr("498us while thread ksoftirqd/1 (tid 21) ran, which had left"));
  activation.fixed.steal_ns = 480'000;
  EXPECT_EQ(of(activation).cause, DelayCause::hardware);
}

TEST(TimerDiagnosis, BlamesTheIdleExitIfNoThreadRan) {
  Activation activation{200'000, 210'000, {local_timer(200'000, 205'000)}};
  EXPECT_EQ(of(activation).cause, DelayCause::idle_exit);
  activation.fixed.steal_ns = 150'000;
  EXPECT_EQ(of(activation).cause, DelayCause::hardware);
}

TEST(TimerDiagnosis, BlamesTheWakeUpUnlessItTookTooLong) {
  EXPECT_EQ(of(Activation{1100, 20'000}).cause, DelayCause::wakeup);
  EXPECT_EQ(of(Activation{1100, 400'000}).cause, DelayCause::hardware);
}

TEST(TimerDiagnosis, BlamesAProgramForItsOwnWork) {
  Activation activation{2000, 90'000, {noise(NOISE_THREAD, 3, 3000, 89'000, "control")}};
  EXPECT_EQ(of(activation).cause, DelayCause::interference);
  activation.noises[0].number = 1035;
  EXPECT_EQ(of(activation).cause, DelayCause::own_work);
  EXPECT_EQ(of(activation).text, "own work: thread control (tid 1035) itself ran for 86.0us");
}

TEST(TimerDiagnosis, MakesNamesPrintable) {
  Activation activation{2000, 90'000, {noise(NOISE_THREAD, 3, 1500, 89'000, "a\x1b[2J")}};
  EXPECT_THAT(of(activation).text, HasSubstr("a\\x1b[2J"));
}

TEST(TimerDiagnosis, FindsTheInterruptedFrameBehindTheFirstEntry) {
  EXPECT_EQ(interrupted_frame(in_module), 2u);
  EXPECT_EQ(interrupted_frame({"a", "b"}), 2u);
  EXPECT_EQ(interrupted_frame({}), 0u);
}

}  // namespace
}  // namespace overdue
