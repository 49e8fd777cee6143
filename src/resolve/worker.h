#pragma once

#include <cstdint>
#include <functional>

#include "resolve/packet_socket.h"
#include "resolve/stack_reader.h"

namespace overdue {

/// Called before system calls are forbidden. After a second without a request, the worker closes
/// the files that it keeps open.
void set_idle_timeout(const PacketSocket& parent);

/// Runs in the child that reads hostile files: answers requests until the connection closes. Opens
/// no file; asks its parent for files. Throws, or does not return, on a malformed packet and when
/// memory runs out. `probe` is called for messages that only tests send; without `probe`, such a
/// message is malformed.
void serve_stacks(PacketSocket& parent, const StackReader::Options& options,
                  const std::function<void(std::uint32_t)>& probe);

}  // namespace overdue
