#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "report/why/call_causes.h"
#include "report/why/remarks.h"

namespace overdue {

/// The limits that these processes have reached at present: descriptors, those of the machine,
/// processes of a cgroup or a user. A limit that is not reached is left out, so that the reason of
/// a failure that is over stays unknown.
std::vector<Remark> reached_limits(const std::map<std::uint32_t, Shortage>& processes);

}  // namespace overdue
