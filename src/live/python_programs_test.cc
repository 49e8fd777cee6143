#include "live/python_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernel/child_fixture.h"
#include "resolve/nameless_resolver.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Finds Python in a process when it has been asked often enough.
class FindsLater final : public NamelessResolver {
 public:
  FindsLater(ProcessImages& images, int after, PythonSupport before = PythonSupport::unreadable)
      : NamelessResolver(images, {}), after_(after), before_(before) {}
  int asked() const { return asked_; }

 private:
  std::optional<FoundPython> read_python(const ProcessImage&, pid_t) override {
    FoundPython found{.support = ++asked_ > after_ ? PythonSupport::yes : before_};
    found.layout.runtime.thread_id = 7;
    return found;
  }

  int after_, asked_ = 0;
  PythonSupport before_;
};

/// A program that sleeps, whose file has a name of Python's.
class Sleeper {
 public:
  Sleeper() {
    const std::string folder =
        testing::TempDir() + "python_programs_test." + std::to_string(getpid());
    const std::string path = folder + "/python3";
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file("/bin/sleep", path);
    child_.emplace([path](Child&) { execl(path.c_str(), path.c_str(), "60", nullptr); });
    child_->go();
    for (int i = 0; i < 2000 && !has_begun(path); ++i) std::this_thread::sleep_for(5ms);
    EXPECT_TRUE(has_begun(path));
    std::filesystem::remove_all(folder);
    images_.add_target(pid());
    programs_.teach([this](const python_program&, const python_runtime& runtime) {
      learned_.push_back(runtime.thread_id);
    });
    programs_.note_target({static_cast<std::uint32_t>(pid())});
  }
  pid_t pid() const { return static_cast<pid_t>(child_->pid()); }
  ProcessImages& images() { return images_; }
  PythonPrograms& programs() { return programs_; }
  const std::vector<std::uint32_t>& learned() const { return learned_; }

 private:
  /// Whether the child is behind its execve.
  bool has_begun(const std::string& path) const {
    const auto process = std::filesystem::path("/proc") / std::to_string(pid());
    std::ifstream file(process / "stat");
    std::string stat;
    std::getline(file, stat);
    return std::filesystem::read_symlink(process / "exe") == path && program_in_stat(stat);
  }

  std::optional<Child> child_;
  ProcessImages images_;
  PythonPrograms programs_;
  std::vector<std::uint32_t> learned_;
};

TEST(PythonPrograms, WhatCannotBeReadYetIsReadLater) {
  Sleeper sleeper;
  FindsLater resolver(sleeper.images(), 2);
  KernelTime now = KernelClock::now();
  sleeper.programs().look_at_new(resolver, now);
  EXPECT_EQ(resolver.asked(), 1);
  sleeper.programs().look_at_new(resolver, now);
  sleeper.programs().look_at(sleeper.pid(), resolver);
  EXPECT_EQ(resolver.asked(), 1) << "not at once";
  for (int i = 0; i < 20; ++i) sleeper.programs().look_at_new(resolver, now += 1s);
  EXPECT_EQ(resolver.asked(), 3) << "until it is found";
  EXPECT_THAT(sleeper.learned(), ElementsAre(7u));
  EXPECT_THAT(sleeper.programs().notes(), IsEmpty());
}

TEST(PythonPrograms, WhatCannotBeReadAtAllIsSaid) {
  Sleeper sleeper;
  FindsLater resolver(sleeper.images(), 1'000'000);
  KernelTime now = KernelClock::now();
  for (int i = 0; i < 20; ++i) sleeper.programs().look_at_new(resolver, now += 10s);
  EXPECT_EQ(resolver.asked(), 8);
  EXPECT_THAT(sleeper.learned(), IsEmpty());
  EXPECT_THAT(sleeper.programs().notes(),
              ElementsAre(HasSubstr("because their memory cannot be read: 1")));
}

TEST(PythonPrograms, AMappingOfPythonsNameIsLookedForAgain) {
  Sleeper sleeper;
  FindsLater resolver(sleeper.images(), 1, PythonSupport::none);
  const KernelTime now = KernelClock::now();
  sleeper.programs().note({.kind = ProcessEvent::Kind::mapping,
                           .pid = sleeper.pid(),
                           .is_executable = true,
                           .text = "/usr/bin/python3.11"});
  sleeper.programs().look_at_new(resolver, now);
  EXPECT_THAT(sleeper.learned(), IsEmpty());
  sleeper.programs().look_at_new(resolver, now + 1s);
  EXPECT_THAT(sleeper.learned(), ElementsAre(7u));
}

TEST(PythonPrograms, AnExecEndsTheLookingForTheFormerProgram) {
  Sleeper sleeper;
  FindsLater resolver(sleeper.images(), 1);
  const KernelTime now = KernelClock::now();
  sleeper.programs().look_at_new(resolver, now);
  sleeper.programs().note({.kind = ProcessEvent::Kind::exec, .pid = sleeper.pid()});
  sleeper.programs().look_at_new(resolver, now + 1s);
  EXPECT_EQ(resolver.asked(), 1);
  sleeper.programs().look_at(sleeper.pid(), resolver);
  EXPECT_THAT(sleeper.learned(), ElementsAre(7u));
}

}  // namespace
}  // namespace overdue
