#pragma once

#include <cstdint>
#include <string>

namespace overdue {

/// "127.0.0.1" or "::1", from the 4 or 16 bytes at `address`, in the order of the network.
std::string ip_text(const unsigned char* address, bool is_ipv6);

/// The address with a port: "127.0.0.1:80", "[::1]:80".
std::string endpoint_text(const unsigned char* address, bool is_ipv6, std::uint16_t port);

}  // namespace overdue
