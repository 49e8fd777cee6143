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

/// A user or group id. The largest number is refused: setresuid() takes it for "leave as it is",
/// that is root.
std::optional<std::uint32_t> parse_id(std::string_view text);

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::string home;
};

/// The machine's users and groups. Getent(1) answers first: it knows those of LDAP, sssd and
/// systemd too. What it does not know, or where it is not installed, /etc/passwd and /etc/group
/// answer. The C library's own functions are not used: they load libraries of exactly the C library
/// that a static program was linked with, and so into a process that may be root.
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

  /// Whether more than the two files can be asked.
  bool has_getent() const;

 private:
  std::string ask(const char* database, const std::string& key) const;
  template <typename Wanted>
  std::optional<User> find(const std::string& key, Wanted wanted) const;

  Paths paths_;
};

}  // namespace overdue
