#include "core/full_names.h"

#include <gtest/gtest.h>

#include "core/finding.h"

namespace overdue {
namespace {

Names of_threads() {
  Names all;
  all.threads = {{10, "kworker/0:0H-events_highpri"},
                 {11, "kworker/u8:2+flush-254:0"},
                 {12, "kworker/R-kvfree_rcu_reclaim"},
                 {13, "rcu_exp_par_gp_kthread_worker/0"},
                 {14, "kworker/u128:10-events"}};
  return all;
}

std::string shown(std::uint32_t tid, std::string_view comm) {
  return full_name(of_threads(), tid, comm, QueueOfWork::shown);
}
std::string without_queue(std::uint32_t tid, std::string_view comm) {
  return full_name(of_threads(), tid, comm, QueueOfWork::left_out);
}

TEST(FullName, IsThatOfTheKernelThread) {
  EXPECT_EQ(shown(12, "kworker/R-kvfre"), "kworker/R-kvfree_rcu_reclaim");
  EXPECT_EQ(without_queue(12, "kworker/R-kvfre"), "kworker/R-kvfree_rcu_reclaim");
  EXPECT_EQ(without_queue(13, "rcu_exp_par_gp_"), "rcu_exp_par_gp_kthread_worker/0");
}

TEST(FullName, OfAWorkerEndsInItsQueueOnlyWhereWanted) {
  EXPECT_EQ(shown(10, "kworker/0:0H"), "kworker/0:0H-events_highpri");
  EXPECT_EQ(shown(11, "kworker/u8:2"), "kworker/u8:2+flush-254:0");
  EXPECT_EQ(shown(14, "kworker/u128:10"), "kworker/u128:10-events");
  EXPECT_EQ(without_queue(10, "kworker/0:0H"), "kworker/0:0H");
  EXPECT_EQ(without_queue(14, "kworker/u128:10"), "kworker/u128:10");
}

TEST(FullName, IsCommForAnotherThreadThatHadTheId) {
  EXPECT_EQ(shown(12, "bash"), "bash");
  EXPECT_EQ(shown(10, "kworker/0:0"), "kworker/0:0") << "a worker without the H";
  EXPECT_EQ(shown(13, "rcu"), "rcu") << "a name that is not cut is whole";
  EXPECT_EQ(shown(13, ""), "") << "a thread whose name is not known";
  EXPECT_EQ(shown(15, "kworker/R-kvfre"), "kworker/R-kvfre");
}

TEST(FullName, IsGivenToEveryThreadOfAFinding) {
  const ThreadName cut{12, 12, "kworker/R-kvfre"};
  Finding finding;
  finding.thread = cut;
  finding.ended_by = cut;
  Wait& wait = finding.waits.emplace_back();
  wait.waker = Waker{.thread = cut, .interrupted = cut};
  wait.preempted_by = wait.tracer = cut;
  wait.stop = StopSignal{.name = "SIGSTOP", .sender = cut};
  wait.ran.add(cut, 1);
  finding.places.emplace_back().ran.add(cut, 1);
  ChainLink& link = finding.chain.emplace_back();
  link.thread = link.interrupted = cut;
  link.ran.add(cut, 1);
  link.places.emplace_back().ran.add(cut, 1);

  give_full_names(finding, of_threads());

  const std::string full = "kworker/R-kvfree_rcu_reclaim";
  for (const ThreadName& thread :
       {finding.thread, *finding.ended_by, wait.waker->thread, wait.waker->interrupted,
        *wait.preempted_by, *wait.tracer, *wait.stop->sender, wait.ran.threads[0].thread,
        finding.places[0].ran.threads[0].thread, link.thread, link.interrupted,
        link.ran.threads[0].thread, link.places[0].ran.threads[0].thread})
    EXPECT_EQ(thread.comm, full);
}

}  // namespace
}  // namespace overdue
