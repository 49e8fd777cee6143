// Source lines of real stacks, read by the child.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "resolve/local_resolver.h"
#include "resolve/resolver_fixture.h"
#include "resolve/sandboxed_resolver.h"

namespace overdue {
namespace {

using resolve_test::ResolverTest;
using resolve_test::Taken;
using testing::EndsWith;
using testing::IsEmpty;
using unwind_test::fixtures;
using unwind_test::Stopped;

class Lines : public ResolverTest {
 protected:
  ProcessImages images_;
  SandboxedResolver without_{images_};
  SandboxedResolver with_{images_, {}, SandboxedResolver::SandboxOptions::with_lines()};
};

Stack without_inlined(Stack stack) {
  std::erase_if(stack, [](const StackFrame& frame) { return frame.is_inlined; });
  return stack;
}

TEST_F(Lines, AreAddedToTheSameFrames) {
  std::size_t inlined = 0;
  for (const char* scenario : {"middle", "sort", "signal", "recurse"}) {
    Stopped stopped("stacks_lines", scenario);
    const Taken taken(stopped.tid);
    const auto plain = without_.user_stack(stopped.tid, taken.registers, taken.memory);
    const auto lined = with_.user_stack(stopped.tid, taken.registers, taken.memory);
    Stack frames = without_inlined(lined.frames);
    ASSERT_EQ(frames.size(), plain.frames.size()) << scenario;
    inlined += lined.frames.size() - frames.size();
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const bool is_ours = frames[i].module.ends_with("/stacks_lines") &&
                           frames[i].name != "_start" &&
                           frames[i].name != "interrupted_leaf";  // those are assembly
      EXPECT_EQ(plain.frames[i].line, 0u);
      if (is_ours) {
        // clang merges calls of main()'s and says line 0 of the result.
        if (frames[i].name != "main") {
          EXPECT_GT(frames[i].line, 0u) << scenario << " " << frames[i].name;
        }
        EXPECT_THAT(frames[i].file, testing::Not(IsEmpty()));
      }
      frames[i].file.clear();
      frames[i].line = 0;
      EXPECT_EQ(frames[i], plain.frames[i]);
    }
    for (std::size_t i = 0; i < lined.frames.size(); ++i)
      if (lined.frames[i].is_inlined) {
        ASSERT_LT(i + 1, lined.frames.size());
        EXPECT_EQ(lined.frames[i].address, lined.frames[i + 1].address);
        EXPECT_THAT(lined.frames[i].name, testing::Not(IsEmpty()));
        EXPECT_GT(lined.frames[i].line, 0u);
      }
    EXPECT_EQ(lined.end, plain.end);
    EXPECT_EQ(lined.unresolved, resolve_test::nameless_of_c_library(lined));
  }
  EXPECT_GT(inlined, 0u);
  EXPECT_EQ(with_.sandbox_cost().restarts, 0u);
}

/// The line is that of the call, not of the code after it.
TEST_F(Lines, AreThoseOfTheCall) {
  Stopped stopped("stacks_lines", "middle");
  const Taken taken(stopped.tid);
  const auto stack = with_.user_stack(stopped.tid, taken.registers, taken.memory);
  std::ifstream file(std::string(OVERDUE_UNWIND_FIXTURE_SOURCE) + "/stacks.cc");
  std::vector<std::string> source{""};
  for (std::string line; std::getline(file, line);) source.push_back(line);
  for (const StackFrame& frame : stack.frames)
    if (frame.name == "main") {
      EXPECT_THAT(frame.file, EndsWith("/stacks.cc"));
      ASSERT_LT(frame.line, source.size());
      EXPECT_THAT(source[frame.line], testing::HasSubstr("return middle(1);"));
      return;
    }
  ADD_FAILURE() << "no main";
}

TEST_F(Lines, OfAStackThatTakesTooLongAreLeftOut) {
  StackReader::Options options;
  options.lines = true;
  options.line_reader.time_of_stack = Duration(-1);
  LocalResolver late(images_, {}, options);
  Stopped stopped("stacks_lines", "sort");
  const Taken taken(stopped.tid);
  EXPECT_EQ(late.user_stack(stopped.tid, taken.registers, taken.memory),
            without_.user_stack(stopped.tid, taken.registers, taken.memory));
}

TEST_F(Lines, OfFilesThatAreForgottenAreReadAgain) {
  StackReader::Options options;
  options.lines = true;
  options.line_reader.cache_bytes = 0;
  options.name_cache_bytes = 0;
  LocalResolver forgetful(images_, {}, options);
  for (const char* program : {"stacks_lines", "stacks", "stacks_lines"}) {
    Stopped stopped(program, "middle");
    const Taken taken(stopped.tid);
    EXPECT_EQ(forgetful.user_stack(stopped.tid, taken.registers, taken.memory),
              with_.user_stack(stopped.tid, taken.registers, taken.memory));
  }
}

/// Lines of a file beyond the limits are not read; names are.
TEST_F(Lines, OfFilesBeyondTheLimitsAreNotRead) {
  StackReader::Options options;
  options.lines = true;
  options.line_reader.limits.section_bytes = 100;
  LocalResolver limited(images_, {}, options);
  Stopped stopped("stacks_lines", "middle");
  const Taken taken(stopped.tid);
  EXPECT_EQ(limited.user_stack(stopped.tid, taken.registers, taken.memory),
            without_.user_stack(stopped.tid, taken.registers, taken.memory));
}

}  // namespace
}  // namespace overdue
