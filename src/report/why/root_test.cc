#include "report/why/root.h"

#include <gtest/gtest.h>

#include <string>

namespace overdue::root_test {
namespace {

StackFrame own(const char* name) {
  return {.name = name, .module = "/bin/app"};
}

TEST(OwnPlace, IsNoGlueOfRustUnlessNothingElseIsThere) {
  const char* glue = "std::sys::backtrace::__rust_begin_short_backtrace";
  const char* park = "<std::thread::thread::Thread>::park";
  EXPECT_EQ(
      own_place({own(park), own("m::take"), own("m::main"), own(glue), own("std::rt::lang_start")}),
      "m::take ← m::main");
  EXPECT_EQ(own_place({own(park), own(glue), own("std::rt::lang_start::{{closure}}")}),
            std::string(glue) + " ← std::rt::lang_start::{{closure}}");
}

TEST(OwnPlace, IsTheJavaMethodIfItsNameIsKnown) {
  const StackFrame enter{.name = "ObjectMonitor::enter", .module = "/usr/lib/libjvm.so"};
  const StackFrame unnamed{.module = "[anon]"};
  const StackFrame method{.name = "void Orders.book(long)", .module = "[jit]", .is_jit = true};
  const StackFrame interpreter{.name = "Interpreter", .module = "[jit]", .is_jit = true};
  EXPECT_EQ(own_place({enter, interpreter, method, interpreter}), "void Orders.book(long)");
  EXPECT_EQ(own_place({enter, unnamed, interpreter}), "ObjectMonitor::enter ← Interpreter");
}

}  // namespace
}  // namespace overdue::root_test
