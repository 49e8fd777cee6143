#include "live/socket_queues.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace overdue::socket_queues_test {
namespace {

std::string text_of(const std::optional<socket_queue>& socket) {
  return socket ? socket->text : "";
}

TEST(SocketQueues, ReadsRowsOfTheKernel) {
  const auto udp = socket_of_row(
      "udp",
      "  781: 0100007F:1388 00000000:0000 07 00000010:00034A80 00:00000000 00000000  1000        0 "
      "4711 2 00000000d0a1b2c3 12");
  ASSERT_TRUE(udp);
  EXPECT_EQ(text_of(udp), "udp 127.0.0.1:5000");
  EXPECT_EQ(udp->inode, 4711u);
  EXPECT_EQ(udp->receive_bytes, 0x34a80u);
  EXPECT_EQ(udp->send_bytes, 0x10u);
  EXPECT_EQ(udp->drops, 12u);
  const auto tcp = socket_of_row(
      "tcp6",
      "   2: 00000000000000000000000001000000:0050 00000000000000000000000001000000:9C40 01 "
      "00000100:00000200 01:00000014 00000000     0        0 812 4 00000000d0a1b2c3 20 4 30 10 -1");
  ASSERT_TRUE(tcp);
  EXPECT_EQ(text_of(tcp), "tcp [::1]:80 to [::1]:40000");
  EXPECT_EQ(tcp->receive_bytes, 0x200u);
  EXPECT_EQ(tcp->send_bytes, 0x100u);
  EXPECT_EQ(tcp->drops, 0u);
}

TEST(SocketQueues, LeavesOutWhatIsNoQueueOfBytes) {
  EXPECT_FALSE(socket_of_row(
      "tcp",
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0      "
      "  0 900 1 00000000d0a1b2c3 100 0 0 10 0"));  // listens
  EXPECT_FALSE(socket_of_row("udp", "  sl  local_address rem_address   st tx_queue rx_queue tr"));
  EXPECT_FALSE(socket_of_row("udp", ""));
  EXPECT_FALSE(socket_of_row("tcp", "1: 0100007F:1F90 0100007F:1F91 06 0:0 00:0 0 0 0 0 0"));
  // Damage is no row of bytes either.
  EXPECT_EQ(text_of(socket_of_row("udp", "1: zz:zz xx:yy 07 0:0 00:0 0 0 0 5 0 0 0")), "udp  to ");
}

TEST(SocketQueues, AddsUpThePacketsOfAllCpus) {
  std::istringstream text(
      "00000010 00000001 00000002 00000000 00000000 00000000\n"
      "000000a0 00000000 00000001 00000000 00000000 00000000\n"
      "damage\n");
  const softnet_counts counts = softnet_of(text);
  EXPECT_EQ(counts.packets, 0xb0u);
  EXPECT_EQ(counts.dropped, 1u);
  EXPECT_EQ(counts.squeezed, 3u);
}

}  // namespace
}  // namespace overdue::socket_queues_test
