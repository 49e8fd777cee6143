#include "target/identity.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace overdue {
namespace {

Identity identity_of(const User& user) {
  return {user.uid, user.gid, {}, user.name, user.home};
}

/// The supplementary groups of `user` in the user database; only the user's own group if the
/// database does not have the user.
std::vector<gid_t> groups_of(const UserDatabase& users, const Identity& user) {
  if (user.name.empty()) return {user.gid};
  return users.groups_of({user.uid, user.gid, user.name, user.home});
}

/// The user given with --user; nothing if Overdue already runs as that user, without root.
std::optional<Identity> requested_user(const std::string& wanted, const IdentityRequest& request,
                                       const UserDatabase& users) {
  if (wanted.empty()) throw Error("the user name is empty").exit_status(own_failure);
  auto user = users.by_name(wanted);
  if (const auto uid = user ? std::nullopt : parse_id(wanted))
    // A number without a user must not get root's group.
    user = users.by_id(*uid).value_or(User{*uid, *uid, "", ""});
  if (!user)
    throw Error("no user '{}'", printable(wanted))
        .hint(users.has_getent() ? "give a name from getent passwd, or a number"
                                 : "without getent, only users in /etc/passwd have names here: "
                                   "give the user's number (id -u)")
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
  return identity_of(*user);
}

/// The user who called sudo, from SUDO_UID and SUDO_GID.
Identity sudo_user(const std::string& sudo_uid, const std::optional<std::string>& sudo_gid,
                   const UserDatabase& users) {
  const auto uid = parse_id(sudo_uid);
  const auto known = uid ? users.by_id(*uid) : std::nullopt;
  std::optional<std::uint32_t> gid =
      known ? std::make_optional<std::uint32_t>(known->gid) : std::nullopt;
  if (sudo_gid) gid = parse_id(*sudo_gid);
  // If the invoking user is unknown, staying root would give the program rights that the user did
  // not ask for.
  if (!uid || !gid)
    throw Error("cannot tell who called sudo: SUDO_UID is '{}' and SUDO_GID is '{}'",
                printable(sudo_uid), printable(sudo_gid.value_or("")))
        .hint("give the user with --user, or unset both to run the program as root")
        .exit_status(own_failure);
  Identity user = identity_of(known.value_or(User{}));
  user.uid = *uid;
  user.gid = *gid;
  return user;
}

/// The user who called pkexec, from PKEXEC_UID.
Identity pkexec_user(const std::string& uid, const UserDatabase& users) {
  const auto id = parse_id(uid);
  const auto known = id ? users.by_id(*id) : std::nullopt;
  if (!known)
    throw Error("cannot tell who called pkexec: PKEXEC_UID is '{}'", printable(uid))
        .hint("give the user with --user, or unset it to run the program as root")
        .exit_status(own_failure);
  return identity_of(*known);
}

/// The user who called doas, from DOAS_USER.
Identity doas_user(const std::string& name, const UserDatabase& users) {
  const auto known = users.by_name(name);
  if (!known)
    throw Error("cannot tell who called doas: DOAS_USER is '{}'", printable(name))
        .hint("give the user with --user, or unset it to run the program as root")
        .exit_status(own_failure);
  return identity_of(*known);
}

/// The user who became root through sudo, pkexec or doas; nothing if root logged in.
std::optional<Identity> caller_of_root(const IdentityRequest& request, const UserDatabase& users) {
  if (request.sudo_uid) return sudo_user(*request.sudo_uid, request.sudo_gid, users);
  if (request.pkexec_uid) return pkexec_user(*request.pkexec_uid, users);
  if (request.doas_user) return doas_user(*request.doas_user, users);
  return std::nullopt;
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

IdentityRequest IdentityRequest::current(std::optional<std::string> user) {
  return {.user = std::move(user),
          .sudo_uid = environment("SUDO_UID"),
          .sudo_gid = environment("SUDO_GID"),
          .pkexec_uid = environment("PKEXEC_UID"),
          .doas_user = environment("DOAS_USER"),
          .real_uid = getuid(),
          .real_gid = getgid(),
          .effective_uid = geteuid()};
}

std::optional<Identity> choose_identity(const IdentityRequest& request, const UserDatabase& users) {
  std::optional<Identity> user;
  if (request.user) {
    user = requested_user(*request.user, request, users);
  } else if (request.effective_uid != request.real_uid) {
    // Set-user-id: the caller controls the environment, so SUDO_UID proves nothing.
    user = identity_of(users.by_id(request.real_uid).value_or(User{}));
    user->uid = request.real_uid;
    user->gid = request.real_gid;
  } else if (request.effective_uid == 0) {
    user = caller_of_root(request, users);
    if (user && user->uid == 0) return std::nullopt;  // root called sudo
  }
  if (user) user->groups = groups_of(users, *user);
  return user;
}

}  // namespace overdue
