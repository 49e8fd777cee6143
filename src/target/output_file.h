#pragma once

#include <string>

#include "base/fd.h"

namespace overdue {

/// Opens `path` for writing, as `-o` does, with the rights of the invoking user
/// (choose_identity()), or with Overdue's own rights if there is none. Files that this user may not
/// write to stay as they are. A new file belongs to this user and has mode 0600. An existing
/// regular file is emptied and keeps its mode. A fifo, a device or a descriptor of the caller's
/// (/dev/stdout, /dev/fd/N) is written to as it is. A directory is shared if others may write to
/// it: all users, or an owner who is neither root nor this user. In a shared directory, no symbolic
/// link, no file of another user and no file with a second name is opened: another user may have
/// put it there to choose the file that Overdue overwrites. Throws Error with the reason: a
/// directory, no permission, a missing parent, a link.
Fd create_output_file(const std::string& path);

/// Creates `path` in the same way, but opens no file that exists already. Throws Error.
Fd create_new_output_file(const std::string& path);

}  // namespace overdue
