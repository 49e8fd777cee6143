#include "target/user_database.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/fd.h"
#include "base/read_text.h"
#include "base/text.h"
#include "target/proc.h"

namespace overdue {
namespace {

constexpr std::size_t longest_answer = 1u << 20;

/// The fields of a line of passwd or group; unlike with split(), empty fields count.
std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> result;
  for (;;) {
    const std::size_t end = line.find(':');
    result.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return result;
    line.remove_prefix(end + 1);
  }
}

std::optional<User> parse_user(std::string_view line) {
  const auto parts = fields(line);
  if (parts.size() != 7 || parts[0].empty()) return std::nullopt;
  const auto uid = parse_id(parts[2]), gid = parse_id(parts[3]);
  if (!uid || !gid) return std::nullopt;
  return User{*uid, *gid, std::string(parts[0]), std::string(parts[5])};
}

std::vector<gid_t> groups_in_file(std::string_view text, std::string_view user) {
  std::vector<gid_t> groups;
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = fields(line);
    if (parts.size() != 4) continue;
    const auto members = split(parts[3], ',');
    const auto gid = parse_id(parts[2]);
    if (gid && std::ranges::find(members, user) != members.end()) groups.push_back(*gid);
  }
  return groups;
}

/// "postgres     103 117": the name padded, then the groups.
std::vector<gid_t> groups_in_answer(std::string_view answer) {
  std::vector<gid_t> groups;
  const std::string_view line = answer.substr(0, answer.find('\n'));
  for (const std::string_view word : split(line.substr(std::min(line.find(' '), line.size())), ' '))
    if (const auto gid = parse_id(word)) groups.push_back(*gid);
  return groups;
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < longest_answer) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

/// Starts a program with `output` as its standard output and an empty environment: Overdue's
/// environment may be that of the caller of a set-user-id program. Nothing if the program cannot be
/// started.
std::optional<pid_t> start(const char* path, char* const argv[], int output) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return std::nullopt;
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  char* const environment[] = {nullptr};
  pid_t child = -1;
  const int code = posix_spawn(&child, path, &actions, nullptr, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  return code == 0 ? std::optional(child) : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> parse_id(std::string_view text) {
  const auto id = parse_u32(text);
  return id && *id != std::numeric_limits<std::uint32_t>::max() ? id : std::nullopt;
}

bool UserDatabase::has_getent() const {
  return access(paths_.getent.c_str(), X_OK) == 0;
}

/// The output of `getent DATABASE KEY`; empty if getent has no answer or cannot run.
std::string UserDatabase::ask(const char* database, const std::string& key) const {
  int ends[2];
  if (!has_getent() || pipe2(ends, O_CLOEXEC) != 0) return {};
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  std::array<std::string, 4> words{paths_.getent.string(), database, "--", key};
  char* const argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                        nullptr};
  const auto child = start(paths_.getent.c_str(), argv, writer.get());
  writer.reset();
  if (!child) return {};
  std::string answer = read_to_end(reader.get());
  while (waitpid(*child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return answer;
}

template <typename Wanted>
std::optional<User> UserDatabase::find(const std::string& key, Wanted wanted) const {
  for (const std::string& text :
       {ask("passwd", key), read_text(paths_.passwd).value_or(std::string())}) {
    for (const std::string_view line : split(text, '\n'))
      if (auto user = parse_user(line); user && wanted(*user)) return user;
  }
  return std::nullopt;
}

std::optional<User> UserDatabase::by_name(const std::string& name) const {
  return find(name, [&name](const User& user) { return user.name == name; });
}

std::optional<User> UserDatabase::by_id(uid_t uid) const {
  return find(std::to_string(uid), [uid](const User& user) { return user.uid == uid; });
}

std::vector<gid_t> UserDatabase::groups_of(const User& user) const {
  std::vector<gid_t> groups{user.gid};
  const std::string answer = ask("initgroups", user.name);
  const auto more = answer.empty()
                        ? groups_in_file(read_text(paths_.group).value_or(std::string()), user.name)
                        : groups_in_answer(answer);
  for (const gid_t gid : more)
    if (std::ranges::find(groups, gid) == groups.end()) groups.push_back(gid);
  return groups;
}

}  // namespace overdue
