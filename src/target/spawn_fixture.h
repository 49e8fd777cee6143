#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "target/fake_tree.h"
#include "target/spawn.h"

// For the tests of spawning: run a program, catch its failure or its output.
namespace overdue {

inline int run(std::vector<std::string> argv, const SpawnOptions& options = {}) {
  SpawnedProgram program(std::move(argv), options);
  program.release();
  return program.wait();
}

struct SpawnFailure {
  std::string text;
  int status = 0;
};

inline SpawnFailure failed_spawn(std::vector<std::string> argv, const SpawnOptions& options = {}) {
  try {
    run(std::move(argv), options);
  } catch (const Error& error) {
    return {std::string(error.what()) + " | " + error.hint(), error.exit_status()};
  }
  return {"nothing was thrown", -1};
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a program writes to its standard output.
inline std::string output_of(std::vector<std::string> argv, const SpawnOptions& options = {}) {
  const FakeTree tree;
  const auto path = tree / "output";
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const Fd saved(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  fflush(stdout);
  dup2(file.get(), STDOUT_FILENO);
  try {
    EXPECT_EQ(run(std::move(argv), options), 0);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  dup2(saved.get(), STDOUT_FILENO);
  return contents(path);
}

/// Sets an environment variable (or unsets it, with null) and restores the old value at the end.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// Removes SUDO_UID and SUDO_GID, so that a test under sudo behaves as it does for root.
class SpawnTest : public testing::Test {
 protected:
  std::string script(std::string_view name, std::string_view text, mode_t mode = 0755) const {
    tree_.file(name, text);
    chmod((tree_ / name).c_str(), mode);
    return (tree_ / name).native();
  }

  const Variable no_sudo_uid_{"SUDO_UID", nullptr};
  const Variable no_sudo_gid_{"SUDO_GID", nullptr};
  const FakeTree tree_;
};

inline bool has_ended(int pidfd, int timeout_ms) {
  pollfd ended{pidfd, POLLIN, 0};
  return poll(&ended, 1, timeout_ms) == 1;
}

inline std::uint64_t status_mask(const std::string& status, const std::string& key) {
  // Signals 32 and 33 belong to the C library. posix_spawn() starts its children, such as those of
  // make, with both ignored, and the C library lets no program change that.
  constexpr std::uint64_t of_the_c_library = 3ULL << 31;
  const std::size_t at = status.find(key + ":\t");
  EXPECT_NE(at, std::string::npos) << key;
  if (at == std::string::npos) return ~0ULL;
  return std::stoull(status.substr(at + key.size() + 2), nullptr, 16) & ~of_the_c_library;
}

}  // namespace overdue
