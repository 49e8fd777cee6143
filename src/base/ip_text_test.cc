#include "base/ip_text.h"

#include <gtest/gtest.h>

#include <array>

namespace overdue {
namespace {

TEST(IpText, IsThatOfTheFamily) {
  constexpr std::array<unsigned char, 16> loopback{127, 0, 0, 1};
  EXPECT_EQ(ip_text(loopback.data(), false), "127.0.0.1");
  EXPECT_EQ(endpoint_text(loopback.data(), false, 6379), "127.0.0.1:6379");
  std::array<unsigned char, 16> six{};
  six[15] = 1;
  EXPECT_EQ(ip_text(six.data(), true), "::1");
  EXPECT_EQ(endpoint_text(six.data(), true, 80), "[::1]:80");
}

}  // namespace
}  // namespace overdue
