#include "report/why/unnamed_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue::unnamed_code_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const StackFrame enter{.name = "ObjectMonitor::enter",
                       .module = "/usr/lib/jvm/lib/server/libjvm.so"};
const StackFrame unnamed{.module = "[anon]"};

TEST(UnnamedCode, OfARuntimeHasAdviceWithTheFirstProcess) {
  UnnamedCode code;
  code.add(7, {enter, unnamed, {.name = "start_thread", .module = "/lib/libc.so.6"}});
  code.add(8, {unnamed, enter});
  code.add(9, {unnamed, {.name = "node::Start", .module = "/usr/bin/node"}});
  EXPECT_THAT(code.notes(), ElementsAre(HasSubstr("--perf-maps asks JVM 7 "),
                                        HasSubstr("node --perf-basic-prof")));
}

TEST(UnnamedCode, NothingIsSaidOfOtherProgramsAndOfWhatHasNames) {
  UnnamedCode code;
  code.add(7, {unnamed, {.name = "main", .module = "/usr/bin/app"}});
  code.add(7, {enter, {.name = "void Orders.book(long)", .module = "[jit]", .is_jit = true}});
  EXPECT_THAT(code.notes(), IsEmpty());
}

}  // namespace
}  // namespace overdue::unnamed_code_test
