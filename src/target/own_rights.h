#pragma once

#include <optional>

#include "target/identity.h"

namespace overdue {

/// What a command may do.
enum class Rights {
  measuring,  ///< all that we were given
  caller,     ///< those of the user who called us, for whom it reads and writes files
  owner,      ///< our user's, to speak with what our user has started
};

/// Gives up, for good, what goes beyond `needed`. Through sudo, `caller` becomes the user who
/// called it. Otherwise we stay who we are and lose all capabilities, so that those of a file
/// (setcap) read nothing for a user that the user may not read; root keeps those with which root
/// opens files. Programs that are started get none back. Throws Error where the kernel refuses.
void give_up_rights(Rights needed, const std::optional<Identity>& caller);

}  // namespace overdue
