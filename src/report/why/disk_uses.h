#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/share.h"
#include "core/members.h"
#include "core/record.h"
#include "report/why/cause.h"
#include "report/why/remarks.h"

namespace overdue {

/// What a process, or many with one name, asked of a disk in the session.
struct DiskUse {
  std::string disk;
  std::string comm;       ///< raw; with * for numbers, if they are several processes
  std::uint32_t pid = 0;  ///< 0: several
  std::uint64_t requests = 0, bytes = 0;
  std::uint64_t device_ns = 0;  ///< time of the requests in the device, added up
  std::uint64_t disk_ns = 0;    ///< the same of all processes

  double share() const { return share_of(device_ns, disk_ns); }
};

void describe(Members& member, const DiskUse& use);

/// The uses of all disks by all processes of the machine. One thread.
class DiskUses {
 public:
  /// Takes a disk_use record.
  void add(const Record& record);
  /// By process, or by name if many processes have it; the largest of each disk first.
  std::vector<DiskUse> all() const;

 private:
  std::vector<DiskUse> uses_;
};

/// Names the processes that used the disk for which the threads of `cause` waited: those with a
/// large part in the disk's time that are not among the waiting threads. If the disk was idle,
/// names the limit of the waiting process among `limits`, remarks about processes. Where workers of
/// the kernel use the disk, names `writers`, whose data they write.
void name_disk_users(WhyCause& cause, const std::vector<DiskUse>& uses,
                     const std::vector<Remark>& limits = {},
                     const std::vector<Remark>& writers = {});

}  // namespace overdue
