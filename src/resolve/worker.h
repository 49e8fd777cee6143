#pragma once

#include <cstdint>
#include <functional>

#include "resolve/packet_socket.h"
#include "resolve/stack_reader.h"

namespace overdue {

/// Before system calls are forbidden: a connection that is silent for a second closes what is kept
/// open.
void set_idle_timeout(const PacketSocket& parent);

/// The life of the child that reads hostile files: answers until the connection closes. Opens no
/// file; what it needs it asks its parent for. Throws, or does not return, for packets no parent of
/// ours sends, and where memory ends. `probe` is called for messages that only tests send; where
/// there is none those are as wrong as others.
void serve_stacks(PacketSocket& parent, const StackReader::Options& options,
                  const std::function<void(std::uint32_t)>& probe);

}  // namespace overdue
