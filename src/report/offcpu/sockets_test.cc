#include "report/offcpu/sockets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "core/socket_schema.h"

namespace overdue::offcpu_sockets_test {
namespace {

constexpr u64 ms = 1'000'000;

class OffcpuSocketsTest : public testing::Test {
 protected:
  void add(u64 inode, u64 receive, u64 send, u64 drops) {
    socket_queue record{};
    record.header.pid = 7;
    std::memcpy(record.header.comm, "slow", 5);
    record.inode = inode;
    record.receive_bytes = receive;
    record.send_bytes = send;
    record.drops = drops;
    std::memcpy(record.text, "udp 127.0.0.1:5000", 19);
    sockets.add(Record{&socket_queue_schema, std::as_bytes(std::span(&record, 1))});
  }
  void add_softnet(u64 dropped, u64 squeezed) {
    softnet_counts record{};
    record.dropped = dropped;
    record.squeezed = squeezed;
    sockets.add(Record{&softnet_schema, std::as_bytes(std::span(&record, 1))});
  }
  /// The process, which waited this long for a CPU.
  static std::vector<OffcpuRow> process(u64 waiting_ms) {
    OffcpuRow row;
    row.pid = 7;
    row.runqueue_ns = waiting_ms * ms;
    row.sleeping_ns = 5 * ms;
    return {row};
  }

  OffcpuSockets sockets;
};

TEST_F(OffcpuSocketsTest, DropsAndPeaksAreThoseOfTheTime) {
  add_softnet(100, 5);
  add(1, 10, 0, 1);
  add(1, 900, 3, 2);
  add(1, 20, 0, 2);
  sockets.end_interval({}, std::chrono::seconds(1));
  add(1, 30, 0, 5);
  add_softnet(101, 9);
  const OffcpuNet interval = sockets.interval({}), total = sockets.total({});
  ASSERT_EQ(interval.sockets.size(), 1u);
  EXPECT_EQ(interval.sockets[0].receive.now, 30u);
  EXPECT_EQ(interval.sockets[0].receive.peak, 30u);
  EXPECT_EQ(interval.sockets[0].drops, 3u);
  EXPECT_EQ(interval.dropped, 1u);
  EXPECT_EQ(total.sockets[0].receive.peak, 900u);
  EXPECT_EQ(total.sockets[0].send.peak, 3u);
  EXPECT_EQ(total.sockets[0].drops, 5u);
  EXPECT_EQ(total.squeezed, 4u);
}

TEST_F(OffcpuSocketsTest, AQueueThatGrowsWithTheWaitsForACpuCorrelates) {
  for (u64 i = 0; i < 6; ++i) {
    add(1, 100 * i, 0, 0);
    add(2, 600 - 100 * i, 0, 0);
    add(3, 50, 0, 0);
    // What is left in a queue is the next interval's too.
    add(1, 0, 0, 0);
    add(2, 0, 0, 0);
    sockets.end_interval(process(2 * i), std::chrono::seconds(1));
  }
  sockets.end_interval(process(500), std::chrono::milliseconds(1));  // cut short by the end
  const OffcpuNet total = sockets.total(process(30));
  ASSERT_EQ(total.sockets.size(), 3u);
  std::map<u64, std::optional<double>> by_peak;
  for (const OffcpuSocket& socket : total.sockets)
    by_peak[socket.receive.peak] = socket.correlation;
  EXPECT_EQ(total.sockets[0].receive.peak, 600u);
  EXPECT_EQ(total.sockets[0].threads.runnable_ns(), 30 * ms);
  EXPECT_NEAR(by_peak[500].value_or(0), 1, 1e-9);
  EXPECT_NEAR(by_peak[600].value_or(0), -1, 1e-9);
  EXPECT_FALSE(by_peak[50]);  // it never changed
}

TEST_F(OffcpuSocketsTest, FewIntervalsHaveNoCorrelation) {
  for (u64 i = 0; i < 4; ++i) {
    add(1, 100 * i, 0, 0);
    sockets.end_interval(process(i), std::chrono::seconds(1));
  }
  EXPECT_FALSE(sockets.total(process(9)).sockets[0].correlation);
}

TEST_F(OffcpuSocketsTest, TextHasTheSocketsWithSomethingInThem) {
  add_softnet(0, 0);
  add(1, 2048, 0, 3);
  add(2, 0, 0, 0);
  add(1, 2048, 0, 5);
  const std::string text = sockets_text(sockets.total(process(3)), 0);
  EXPECT_NE(text.find("udp 127.0.0.1:5000 of slow[7]\n"), text.npos) << text;
  EXPECT_NE(text.find("5.00ms blocked, 3.00ms waiting for a CPU\n"), text.npos) << text;
  EXPECT_NE(text.find("with empty queues: 1 socket\n"), text.npos) << text;
  EXPECT_NE(text.find("0 packets dropped, softirqs out of time 0 times\n"), text.npos) << text;
  EXPECT_NE(sockets_text({}, 0).find("no TCP and no UDP socket"), text.npos);
}

}  // namespace
}  // namespace overdue::offcpu_sockets_test
