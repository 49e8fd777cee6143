#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace overdue {

/// A user or group id. The largest number is refused: for setresuid() it means "leave unchanged",
/// and the process would stay root.
std::optional<std::uint32_t> parse_id(std::string_view text);

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::string home;
};

/// The machine's users and groups. getent(1) is asked first: it also knows the users of LDAP, sssd
/// and systemd. If getent has no answer or is not installed, /etc/passwd and /etc/group are read.
/// The C library's own functions are not used: they load libraries of exactly the C library that a
/// static program was linked with, into a process that may be root.
class UserDatabase {
 public:
  struct Paths {
    std::filesystem::path passwd = "/etc/passwd";
    std::filesystem::path group = "/etc/group";
    std::filesystem::path getent = "/usr/bin/getent";
  };
  UserDatabase() = default;
  explicit UserDatabase(Paths paths) : paths_(std::move(paths)) {}

  std::optional<User> by_name(const std::string& name) const;
  std::optional<User> by_id(uid_t uid) const;

  /// The user's own group first, then the supplementary ones; each once.
  std::vector<gid_t> groups_of(const User& user) const;

  /// Whether getent is installed.
  bool has_getent() const;

 private:
  std::string ask(const char* database, const std::string& key) const;
  template <typename Wanted>
  std::optional<User> find(const std::string& key, Wanted wanted) const;

  Paths paths_;
};

}  // namespace overdue
