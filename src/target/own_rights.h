#pragma once

#include <optional>

#include "target/identity.h"

namespace overdue {

/// The rights that a command needs.
enum class Rights {
  measuring,  ///< all rights of the process; rights over files of others only under ReadRights
  caller,     ///< rights of the invoking user, whose files the command reads and writes
  owner,      ///< rights of the process's own user, to talk to sessions that this user started
};

/// Drops, for good, all rights beyond `needed`. For Rights::caller, the process becomes
/// `caller`, if there is one (sudo, pkexec, doas). Otherwise the user stays the same and the
/// process loses all capabilities, so that capabilities of Overdue's own file (setcap) read no file
/// that the user may not read; root keeps the capabilities with which root opens files. Programs
/// that the process starts regain none. Rights::measuring drops nothing: it only takes rights
/// over files of others out of force. Throws Error if the kernel refuses.
void drop_rights(Rights needed, const std::optional<Identity>& caller);

/// Whether the session starts programs for its caller (--on exec:, --debuginfod).
enum class Helpers { none, will_be_started };

/// Whether a session has attached all its programs, or attaches more while it runs.
enum class Attaching { is_over, goes_on };

/// For a measuring command whose probes are attached: the calling thread drops, for good, the
/// rights that only attaching needs. For Attaching::goes_on, AttachRights can put them in force
/// again. By exec, a helper of root's gets all rights of root, and the kernel lets a program that
/// gains rights outlive its parent (it clears PR_SET_PDEATHSIG). For Helpers::will_be_started, the
/// rights therefore stay permitted and are only taken out of force. Throws Error if the kernel
/// refuses.
void drop_rights_to_attach(Helpers helpers, Attaching attaching);

}  // namespace overdue
