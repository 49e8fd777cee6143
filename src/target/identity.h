#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "target/user_database.h"

namespace overdue {

/// Exit status if Overdue itself fails before it runs a program, as for env(1) and nohup(1).
inline constexpr int own_failure = 125;

/// The user a spawned program runs as.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  ///< supplementary
  std::string name;           ///< empty if the user database does not have the user
  std::string home;
};

/// Everything that choose_identity() depends on.
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

/// The user to become before a program is started, so that tracing gives no user more rights.
/// Nothing if the user stays the same. Order of precedence: `--user`; in a set-user-id program, the
/// real user; for root through sudo, pkexec or doas, the user who called it. Throws Error (exit
/// status 125) if the user is unknown, if only root could become the user, or if the caller of
/// sudo, pkexec or doas is unknown.
std::optional<Identity> choose_identity(const IdentityRequest& request,
                                        const UserDatabase& users = {});

}  // namespace overdue
