#pragma once

#include <optional>

#include "target/identity.h"

namespace overdue {

/// What a command may do.
enum class Rights {
  measuring,  ///< all that we were given; those over files of others where ReadRights asks for them
  caller,     ///< those of the user who called us, for whom it reads and writes files
  owner,      ///< our user's, to speak with what our user has started
};

/// Gives up, for good, what goes beyond `needed`. Through sudo, `caller` becomes the user who
/// called it. Otherwise we stay who we are and lose all capabilities, so that those of a file
/// (setcap) read nothing for a user that the user may not read; root keeps those with which root
/// opens files. Programs that are started get none back. Throws Error where the kernel refuses.
void give_up_rights(Rights needed, const std::optional<Identity>& caller);

/// What is started later, as who has called us.
enum class Helpers { none, will_be_started };

/// For a measuring command whose probes are attached: gives up, for good and for the calling
/// thread, what only that took. Helpers of root's have all of root's rights: where there will be
/// some, those stay permitted and are only not in force, for a program that gets more than we have
/// would not die with us. Throws Error where the kernel refuses.
void give_up_rights_to_attach(Helpers helpers);

}  // namespace overdue
