// Tests which file is executed, and as which user.
#include <sys/stat.h>

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "target/spawn.h"
#include "target/spawn_fixture.h"

namespace overdue {
namespace {

using testing::HasSubstr;

TEST_F(SpawnTest, MissingProgramsAre127) {
  EXPECT_EQ(failed_spawn({"no-such-program-anywhere"}).status, 127);
  EXPECT_THAT(failed_spawn({"no-such-program-anywhere"}).text,
              HasSubstr("no such program in PATH"));
  EXPECT_EQ(failed_spawn({"/no/such/program"}).status, 127);
  EXPECT_EQ(failed_spawn({script("file", "") + "/below"}).status, 127);
  EXPECT_EQ(failed_spawn({std::string(5000, 'x')}).status, 127);
  EXPECT_EQ(failed_spawn({""}).status, 127);
  EXPECT_THAT(failed_spawn({""}).text, HasSubstr("program name is empty"));
  EXPECT_EQ(failed_spawn({}).status, 127);
  EXPECT_THAT(failed_spawn({"no\x1bsuch"}).text, HasSubstr("no\\x1bsuch"));
}

TEST_F(SpawnTest, ProgramsThatCannotBeExecutedAre126) {
  EXPECT_EQ(failed_spawn({script("plain", "#!/bin/sh\n", 0644)}).status, 126);
  EXPECT_THAT(failed_spawn({script("plain", "#!/bin/sh\n", 0644)}).text,
              HasSubstr("permission denied"));
  EXPECT_EQ(failed_spawn({tree_.root().native()}).status, 126);
  EXPECT_THAT(failed_spawn({tree_.root().native()}).text, HasSubstr("directory"));
  const auto binary = failed_spawn({script("binary", std::string("\x7f"
                                                                 "ELF\0\0\0\0",
                                                                 8))});
  EXPECT_EQ(binary.status, 126);
  EXPECT_THAT(binary.text, HasSubstr("not a program for this machine"));
  const auto interpreter = failed_spawn({script("orphan", "#!/no/such/interpreter\n")});
  EXPECT_EQ(interpreter.status, 126);
  EXPECT_THAT(interpreter.text, HasSubstr("interpreter"));
}

TEST_F(SpawnTest, ScriptWithoutInterpreterLineRunsInAShell) {
  EXPECT_EQ(output_of({script("bare", "echo \"$1-$2\"\n"), "a b", "c"}), "a b-c\n");
  EXPECT_EQ(run({script("empty", "")}), 0);
}

TEST_F(SpawnTest, ProgramIsLookedForInPath) {
  std::filesystem::create_directories(
      tree_ / "first/tool");  // a directory and a plain file are passed over
  script("second/tool", "#!/bin/sh\nexit 1\n", 0644);
  script("third/tool", "#!/bin/sh\nexit 33\n");
  const std::string path =
      fmt::format("{0}/absent:{0}/first:{0}/second:{0}/third:/bin:/usr/bin", tree_.root().native());
  const Variable variable("PATH", path.c_str());
  SpawnedProgram program({"tool"});
  EXPECT_EQ(program.path(), (tree_ / "third/tool").native());
  program.release();
  EXPECT_EQ(program.wait(), 33);
  std::filesystem::remove(tree_ / "third/tool");
  EXPECT_EQ(failed_spawn({"tool"}).status, 126);
}

TEST_F(SpawnTest, EmptyPathElementIsTheCurrentDirectory) {
  script("here", "#!/bin/sh\nexit 12\n");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(tree_.root());
  {
    const Variable variable("PATH", "/bin::/usr/bin");
    EXPECT_EQ(run({"here"}), 12);
    EXPECT_EQ(output_of({"pwd"}), tree_.root().native() + "\n");
  }
  std::filesystem::current_path(before);
}

class SpawnAsRootTest : public SpawnTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  }
};

TEST_F(SpawnAsRootTest, SudoUserIsRestoredWithoutRights) {
  const Variable uid("SUDO_UID", "65534");
  const Variable gid("SUDO_GID", "65534");
  const Variable home("HOME", "/root");
  EXPECT_EQ(output_of({"id", "-u"}), "65534\n");
  EXPECT_EQ(output_of({"id", "-g"}), "65534\n");
  EXPECT_EQ(output_of({"id", "-G"}), "65534\n");
  EXPECT_EQ(output_of({"sh", "-c", "echo $HOME $USER $LOGNAME"}), "/nonexistent nobody nobody\n");
  const std::string status = output_of({"cat", "/proc/self/status"});
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
    EXPECT_EQ(status_mask(status, set), 0u) << set;
}

TEST_F(SpawnAsRootTest, UserOptionOverridesSudo) {
  const Variable uid("SUDO_UID", "1");
  const Variable gid("SUDO_GID", "1");
  EXPECT_EQ(output_of({"id", "-u"}, {.user = "nobody"}), "65534\n");
  EXPECT_EQ(output_of({"id", "-u"}, {.user = "0"}), "0\n");
  EXPECT_EQ(failed_spawn({"id"}, {.user = "no-such-user"}).status, 125);
}

TEST_F(SpawnAsRootTest, WithoutSudoWeStayRoot) {
  EXPECT_EQ(output_of({"id", "-u"}), "0\n");
}

TEST_F(SpawnAsRootTest, ProgramIsFoundWithTheRightsOfTheUser) {
  script("private/tool", "#!/bin/sh\nexit 1\n", 0700);
  chmod(tree_.root().c_str(), 0755);
  script("public/tool", "#!/bin/sh\nexit 2\n");
  const std::string path =
      fmt::format("{0}/private:{0}/public:/bin:/usr/bin", tree_.root().native());
  const Variable variable("PATH", path.c_str());
  EXPECT_EQ(run({"tool"}), 1);
  EXPECT_EQ(run({"tool"}, {.user = "nobody"}), 2);
  EXPECT_EQ(failed_spawn({tree_ / "private/tool"}, {.user = "nobody"}).status, 126);
  chmod((tree_ / "private").c_str(), 0700);  // PATH may name directories of root
  EXPECT_EQ(run({"tool"}, {.user = "nobody"}), 2);
  std::filesystem::remove(tree_ / "public/tool");
  EXPECT_EQ(failed_spawn({"tool"}, {.user = "nobody"}).status, 127);
  EXPECT_EQ(failed_spawn({tree_ / "private/tool"}, {.user = "nobody"}).status, 126);
}

}  // namespace
}  // namespace overdue
