#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "target/proc.h"

namespace overdue {

/// The names of the kernel threads that run now, by thread id, as far as they say more than the 15
/// bytes of the thread's `comm`: since Linux 5.17, /proc has the full name, and of a worker of work
/// queues the queue of its last or present work. Reads a file for each kernel thread (some 5 us).
std::map<std::uint32_t, std::string> kernel_thread_names(const Proc& proc = Proc());

}  // namespace overdue
