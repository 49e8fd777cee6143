#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/record.h"

namespace overdue {

struct Finding;

/// Whether the name of a worker of the kernel's work queues ends in the queue whose work the worker
/// did last: `kworker/0:1-events`. The queue is that of the time at which the names were read.
enum class QueueOfWork { shown, left_out };

/// The full name of a thread, if `names` has it: of the kernel's threads as ps(1) shows it, of Java
/// threads as the program gave it. Else `comm`, which the kernel cuts after 15 bytes.
std::string full_name(const Names& names, std::uint32_t tid, std::string_view comm,
                      QueueOfWork queue);

/// Gives all threads of the finding their full names, without queues of work.
void give_full_names(Finding& finding, const Names& names);

}  // namespace overdue
