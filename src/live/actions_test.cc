#include "live/actions.h"

#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "report/stalls/thresholds.h"

namespace overdue {
namespace {

using std::chrono::milliseconds;

TEST(Actions, AreRead) {
  const ActionOptions options =
      parse_actions({"exec:mail -s late root", "signal:SIGSTOP", "mark", "print", "stop"});
  EXPECT_EQ(options.command, "mail -s late root");
  EXPECT_EQ(options.signal, SIGSTOP);
  EXPECT_TRUE(options.mark);
  EXPECT_TRUE(options.stop);
  EXPECT_EQ(parse_actions({"signal:USR1"}).signal, SIGUSR1);
  EXPECT_EQ(parse_actions({"signal:12"}).signal, 12);
  EXPECT_FALSE(parse_actions({}).signal);
  for (const char* wrong : {"exec:", "exec", "signal:", "signal:NO", "signal:0", "signal:12x", ""})
    EXPECT_THROW(parse_actions({wrong}), Error) << wrong;
}

// The kernel reports the start of a process in hundredths of a second, rounded down.
TEST(Actions, AProcessThatMayBeAnotherIsNotTheOne) {
  const KernelTime finding{milliseconds(5000)};
  EXPECT_FALSE(may_be_another(finding - milliseconds(1000), finding));
  EXPECT_FALSE(may_be_another(finding - milliseconds(10), finding));
  EXPECT_TRUE(may_be_another(finding - milliseconds(9), finding));
  EXPECT_TRUE(may_be_another(finding, finding));
  EXPECT_TRUE(may_be_another(finding + milliseconds(1000), finding));
}

TEST(Thresholds, ThatChangeKeepTheOthers) {
  Thresholds all = parse_thresholds({"10ms,futex=1s,thread:a*=5ms"});
  EXPECT_EQ(to_text(all), "10.0ms,futex=1.00s,thread:a*=5.00ms");
  change_thresholds(all, "20ms,read=2s,thread:a*=6ms,thread:b*=7ms", {});
  EXPECT_EQ(to_text(all), "20.0ms,read=2.00s,futex=1.00s,thread:a*=6.00ms,thread:b*=7.00ms");
  EXPECT_THROW(change_thresholds(all, "30ms,nothing=1s", {}), Error);
  EXPECT_THROW(change_thresholds(all, "soon", {}), Error);
  EXPECT_EQ(to_text(all), "20.0ms,read=2.00s,futex=1.00s,thread:a*=6.00ms,thread:b*=7.00ms");
}

}  // namespace
}  // namespace overdue
