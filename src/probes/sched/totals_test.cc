// The totals of threads: where each has spent the session.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <vector>

#include "kernel/child_fixture.h"
#include "kernel/session.h"
#include "probes/sched/probe.h"

namespace overdue {
namespace {

class Totals : public KernelTest {
 protected:
  void measure(const Child& child) {
    MembershipRules rules;
    rules.pids = {child.pid()};
    session = std::make_unique<Session>(rules, std::size_t{1} << 16);
    session->add(std::make_unique<SchedProbe>(session->membership().maps(),
                                              SchedOptions{.keeps_totals = true}));
    session->arm();
  }
  /// The last record of each thread: the sums are read before the programs are detached, and after.
  std::vector<offcpu_thread> finish() {
    std::map<u32, offcpu_thread> last;
    session->finish([&](const Record& record) {
      if (record.schema->id != RECORD_OFFCPU_THREAD) return;
      const auto row = record.as<offcpu_thread>();
      last[row.header.tid] = row;
    });
    std::vector<offcpu_thread> rows;
    for (const auto& [tid, row] : last) rows.push_back(row);
    return rows;
  }

  std::unique_ptr<Session> session;
};

// Hooks are detached before the totals are read. Where that takes long, threads wake up meanwhile.
TEST_F(Totals, HaveTheWaitThatEndsBehindTheSession) {
  for (const bool ends_itself : {false, true}) {
    SCOPED_TRACE(ends_itself);
    Child child([&](Child& self) {
      if (!ends_itself) self.step();
    });
    measure(child);
    usleep(50'000);
    session->end_early();
    usleep(20'000);
    if (ends_itself) {
      child.go();
      EXPECT_EQ(child.end(), 0);
    } else {
      child.run_step();
    }
    const std::vector<offcpu_thread> rows = finish();
    ASSERT_EQ(rows.size(), 1u);
    const u64 lasted_ns = static_cast<u64>((session->end() - session->start()).count());
    EXPECT_EQ(rows[0].header.tid, child.pid());
    EXPECT_GE(lasted_ns, 50'000'000u);
    EXPECT_NEAR(static_cast<double>(rows[0].sums.sleeping_ns), static_cast<double>(lasted_ns),
                0.001 * static_cast<double>(lasted_ns));
  }
}

}  // namespace
}  // namespace overdue
