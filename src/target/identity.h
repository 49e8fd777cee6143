#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "target/user_database.h"

namespace overdue {

/// Exit status of a failure of ours where a program was to be run, as env(1) and nohup(1) have it.
inline constexpr int own_failure = 125;

/// The user a spawned program runs as.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  ///< supplementary
  std::string name;           ///< empty where the user database does not know the user
  std::string home;
};

/// Everything the choice depends on.
struct IdentityRequest {
  std::optional<std::string> user;      ///< --user: a name or a number
  std::optional<std::string> sudo_uid;  ///< the environment's SUDO_UID and SUDO_GID
  std::optional<std::string> sudo_gid;
  std::optional<std::string> pkexec_uid;  ///< PKEXEC_UID
  std::optional<std::string> doas_user;   ///< DOAS_USER, a name
  uid_t real_uid = 0;
  gid_t real_gid = 0;
  uid_t effective_uid = 0;

  /// This process and its environment.
  static IdentityRequest current(std::optional<std::string> user);
};

/// Whom to become before a program is started, so that tracing gives nobody rights they do not
/// have; nothing where we stay who we are. `--user` comes first; then, as root through sudo, pkexec
/// or doas, the user who called it; as a set-user-id program, the real user. Throws Error (exit
/// status 125): unknown user, not root, a caller that cannot be told.
std::optional<Identity> choose_identity(const IdentityRequest& request,
                                        const UserDatabase& users = {});

}  // namespace overdue
