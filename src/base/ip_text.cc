#include "base/ip_text.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>

namespace overdue {

std::string ip_text(const unsigned char* address, bool is_ipv6) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, address, text.data(), text.size()) ? text.data()
                                                                                    : "";
}

std::string endpoint_text(const unsigned char* address, bool is_ipv6, std::uint16_t port) {
  const std::string host = ip_text(address, is_ipv6);
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace overdue
