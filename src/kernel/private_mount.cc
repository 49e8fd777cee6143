#include "kernel/private_mount.h"

#include <sys/mount.h>

namespace overdue {

Fd mount_privately(const char* file_system) {
  const Fd context(::fsopen(file_system, FSOPEN_CLOEXEC));
  if (!context) return Fd();
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return Fd();
  return Fd(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
}

}  // namespace overdue
