#include "target/identity.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "target/proc.h"

namespace overdue {
namespace {

/// A user or group id. The largest number is refused: setresuid() takes it for "leave as it is",
/// that is root.
std::optional<std::uint32_t> parse_id(std::string_view text) {
  const auto id = parse_u32(text);
  return id && *id != std::numeric_limits<std::uint32_t>::max() ? id : std::nullopt;
}

/// The result of a getpw*_r function called with a buffer that is large enough.
template <typename LookUp>
std::optional<Identity> find_user(LookUp look_up) {
  std::vector<char> buffer(16 * 1024);
  for (;;) {
    passwd entry{};
    passwd* found = nullptr;
    const int code = look_up(&entry, buffer.data(), buffer.size(), &found);
    if (code == ERANGE && buffer.size() < 16 * 1024 * 1024) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    if (!found) return std::nullopt;
    return Identity{found->pw_uid, found->pw_gid, {}, found->pw_name, found->pw_dir};
  }
}

std::optional<Identity> user_by_id(uid_t uid) {
  return find_user([uid](passwd* entry, char* buffer, std::size_t size, passwd** found) {
    return getpwuid_r(uid, entry, buffer, size, found);
  });
}

std::optional<Identity> user_by_name(const std::string& name) {
  return find_user([&name](passwd* entry, char* buffer, std::size_t size, passwd** found) {
    return getpwnam_r(name.c_str(), entry, buffer, size, found);
  });
}

/// The supplementary groups the user database gives `user`; only its own group where it does not
/// know the user.
std::vector<gid_t> groups_of(const Identity& user) {
  if (user.name.empty()) return {user.gid};
  int count = 64;
  std::vector<gid_t> groups;
  for (int tries = 0; tries < 3; ++tries) {
    groups.resize(static_cast<std::size_t>(count));
    if (getgrouplist(user.name.c_str(), user.gid, groups.data(), &count) >= 0) {
      groups.resize(static_cast<std::size_t>(count));
      return groups;
    }
  }
  return {user.gid};
}

/// The user `wanted` with --user.
std::optional<Identity> requested_user(const std::string& wanted, const IdentityRequest& request) {
  if (wanted.empty()) throw Error("the user name is empty").exit_status(own_failure);
  auto user = user_by_name(wanted);
  if (const auto uid = user ? std::nullopt : parse_id(wanted)) {
    user = user_by_id(*uid);
    if (!user)
      user = Identity{*uid, *uid, {}, "", ""};  // never root's group for a number nobody has
  }
  if (!user)
    throw Error("no user '{}'", printable(wanted))
        .hint("give a name from getent passwd, or a number")
        .exit_status(own_failure);
  if (request.effective_uid != request.real_uid && user->uid != request.real_uid)
    throw Error("cannot run a program as user {}: this overdue is installed set-user-id",
                printable(wanted))
        .exit_status(own_failure);
  if (request.effective_uid != 0) {
    if (user->uid == request.effective_uid) return std::nullopt;
    throw Error("cannot run a program as user {}: only root can", printable(wanted))
        .hint("run overdue with sudo")
        .exit_status(own_failure);
  }
  return user;
}

/// The user who called sudo, as SUDO_UID and SUDO_GID tell.
Identity sudo_user(const std::string& sudo_uid, const std::optional<std::string>& sudo_gid) {
  const auto uid = parse_id(sudo_uid);
  const auto known = uid ? user_by_id(*uid) : std::nullopt;
  std::optional<std::uint32_t> gid =
      known ? std::make_optional<std::uint32_t>(known->gid) : std::nullopt;
  if (sudo_gid) gid = parse_id(*sudo_gid);
  // Going on as root when the invoking user cannot be told would give the program rights nobody
  // asked for.
  if (!uid || !gid)
    throw Error("cannot tell who called sudo: SUDO_UID is '{}' and SUDO_GID is '{}'",
                printable(sudo_uid), printable(sudo_gid.value_or("")))
        .hint("give the user with --user, or unset both to run the program as root")
        .exit_status(own_failure);
  Identity user = known.value_or(Identity{});
  user.uid = *uid;
  user.gid = *gid;
  return user;
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

IdentityRequest IdentityRequest::current(std::optional<std::string> user) {
  return {std::move(user), environment("SUDO_UID"), environment("SUDO_GID"), getuid(), getgid(),
          geteuid()};
}

std::optional<Identity> choose_identity(const IdentityRequest& request) {
  std::optional<Identity> user;
  if (request.user) {
    user = requested_user(*request.user, request);
  } else if (request.effective_uid != request.real_uid) {
    // Set-user-id: the environment is the caller's, so SUDO_UID says nothing.
    user = user_by_id(request.real_uid).value_or(Identity{});
    user->uid = request.real_uid;
    user->gid = request.real_gid;
  } else if (request.effective_uid == 0 && request.sudo_uid) {
    user = sudo_user(*request.sudo_uid, request.sudo_gid);
    if (user->uid == 0) return std::nullopt;  // root called sudo
  }
  if (user) user->groups = groups_of(*user);
  return user;
}

}  // namespace overdue
