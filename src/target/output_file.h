#pragma once

#include <string>

#include "base/fd.h"

namespace overdue {

/// Opens `path` for writing, as `-o` means it, with the rights of the user who invoked sudo, where
/// we are root through sudo, and ours otherwise: what that user may not write to stays as it is. A
/// new file has mode 0600 and is that user's; an existing regular file is emptied and keeps its
/// mode; a fifo, a device or a descriptor of the caller's (/dev/stdout, /dev/fd/N) is written to as
/// it is. In a directory that others may write to (everybody, or an owner who is neither root nor
/// that user), neither a symbolic link nor somebody else's file, nor a file with a second name, is
/// ever opened: whoever put it there may have chosen what we overwrite. Throws Error saying what is
/// wrong: a directory, no permission, a missing parent, a link.
Fd create_output_file(const std::string& path);

}  // namespace overdue
