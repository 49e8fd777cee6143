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

/// Whether the session starts programs for its caller (--on exec:, --debuginfod).
enum class Helpers { none, will_be_started };

/// Whether all that a session needs is attached, or it attaches more when it has seen more.
enum class Attaching { is_over, goes_on };

/// For a measuring command whose probes are attached: the calling thread gives up, for good, the
/// rights that only attaching takes; where that goes on, AttachRights can have them back. A helper
/// of root's gets all rights of root by exec, and the kernel lets a program that gains rights
/// outlive its parent (PR_SET_PDEATHSIG). Where helpers will be started the rights therefore stay
/// permitted, and are not in force. Throws Error where the kernel refuses.
void give_up_rights_to_attach(Helpers helpers, Attaching attaching);

}  // namespace overdue
