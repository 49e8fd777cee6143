#pragma once

#include <string>

#include "core/finding.h"
#include "core/session_info.h"

namespace overdue {

struct FindingTextOptions {
  bool color = false;
  bool whole_stacks = false;  ///< every frame on a line of its own, also of wakers
  bool threshold = true;      ///< prints the threshold
};

/// A finding in a few lines that read as sentences, each ending in a newline:
///   #1 08:15:30.123  fsync(3</tmp/x>) = 0  io-demo[5786]  2.31s (threshold 2s)
///     blocked    2.29s  ext4_create → jbd2_log_wait_commit, woken by jbd2/vda-8[203]
///       └ jbd2/vda-8[203] held it up: waited 2.27s in submit_bio_wait
///         └ irq 24 virtio1-req.0 ended that
///     run queue  12.0ms  behind kworker/u4:1[71]
///     on CPU     8.00ms
///     called from  main → create_files → fsync
std::string finding_text(const Finding& finding, const SessionInfo& info,
                         const FindingTextOptions& options);

}  // namespace overdue
