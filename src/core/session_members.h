#pragma once

#include "core/members.h"
#include "core/session_info.h"

namespace overdue {

/// Members that stand in every report.
void describe(Members& member, const SessionInfo& info);
void describe(Members& member, const Receipt& receipt);

}  // namespace overdue
