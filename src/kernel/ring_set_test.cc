#include "kernel/ring_set.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "bpf/wire.h"
#include "kernel/child_fixture.h"

namespace overdue {
namespace {

constexpr std::uint32_t ring_count = 3;

bpf_insn instruction(int code, int to, int from, int offset, int value) {
  bpf_insn result{};
  result.code = static_cast<__u8>(code);
  result.dst_reg = static_cast<__u8>(to & 15);
  result.src_reg = static_cast<__u8>(from & 15);
  result.off = static_cast<__s16>(offset);
  result.imm = value;
  return result;
}

int load(const std::vector<bpf_insn>& program) {
  return check(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "test_write", "GPL", program.data(),
                             program.size(), nullptr),
               "cannot load a program that writes to a ring");
}

/// A program that puts its six arguments into the ring as one record. Its result is 0 if there was
/// room.
int load_writer(int ring_fd) {
  std::vector<bpf_insn> program{
      instruction(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0)};
  for (int at = 0; at < static_cast<int>(sizeof(event_header)); at += 8) {
    program.push_back(instruction(BPF_LDX | BPF_DW | BPF_MEM, BPF_REG_2, BPF_REG_6, at, 0));
    program.push_back(instruction(BPF_STX | BPF_DW | BPF_MEM, BPF_REG_10, BPF_REG_2,
                                  at - static_cast<int>(sizeof(event_header)), 0));
  }
  const auto set = [&](int to, int value) {
    program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value));
  };
  program.push_back(
      instruction(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, ring_fd));
  program.push_back(instruction(0, 0, 0, 0, 0));
  program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0));
  program.push_back(instruction(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0,
                                -static_cast<int>(sizeof(event_header))));
  set(BPF_REG_3, sizeof(event_header));
  set(BPF_REG_4, BPF_RB_NO_WAKEUP);
  program.push_back(instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output));
  program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
  return load(program);
}

/// A program that reserves room in the ring and discards it.
int load_discarder(int ring_fd) {
  return load({instruction(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, ring_fd),
               instruction(0, 0, 0, 0, 0),
               instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 40),
               instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0),
               instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_reserve),
               instruction(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 3, 0),
               instruction(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_0, 0, 0),
               instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, BPF_RB_NO_WAKEUP),
               instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_discard),
               instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
               instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)});
}

int map_of_rings() {
  const Fd model(check(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "test_model", 0, 0, 4096, nullptr),
                       "cannot create a ring"));
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.inner_map_fd = static_cast<__u32>(model.get());
  return check(bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "test_rings", 4, 4, ring_count, &options),
               "cannot create a map of rings");
}

/// Rings as in a session, and programs that write records of the test into each ring.
class RingSetTest : public KernelTest {
 protected:
  void make(std::size_t bytes) {
    map_ = Fd(map_of_rings());
    rings_.emplace(map_.get(), ring_count, bytes);
    for (std::uint32_t ring = 0; ring < ring_count; ++ring) {
      std::uint32_t id = 0;
      check(bpf_map_lookup_elem(map_.get(), &ring, &id), "cannot find a ring");
      const Fd fd(check(bpf_map_get_fd_by_id(id), "cannot open a ring"));
      writers_.emplace_back(load_writer(fd.get()));
      discarders_.emplace_back(load_discarder(fd.get()));
    }
  }
  bool write(std::uint32_t ring, u64 time_ns, u32 mark = 0, u16 size = sizeof(event_header)) {
    event_header header{};
    header.time_ns = time_ns;
    header.pid = mark;
    header.cpu = ring;
    header.size = size;
    return run(writers_[ring], &header, sizeof header);
  }
  void discard(std::uint32_t ring) { run(discarders_[ring], nullptr, 0); }

  struct Got {
    u64 time_ns;
    u32 mark;
    u32 ring;
    std::size_t size;
    bool operator==(const Got&) const = default;
  };
  std::vector<Got> drain(u64 until_ns = UINT64_MAX) {
    std::vector<Got> got;
    const std::size_t count =
        rings_->drain(KernelTime(Duration(until_ns)), [&](std::span<const std::byte> bytes) {
          event_header header{};
          std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
          got.push_back({header.time_ns, header.pid, header.cpu, bytes.size()});
        });
    EXPECT_EQ(count, got.size());
    return got;
  }

  Fd map_;
  std::optional<RingSet> rings_;

 private:
  static bool run(const Fd& program, const void* context, std::size_t size) {
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    options.ctx_in = context;
    options.ctx_size_in = static_cast<__u32>(size);
    check(bpf_prog_test_run_opts(program.get(), &options), "cannot run a program");
    return options.retval == 0;
  }
  std::vector<Fd> writers_, discarders_;
};

TEST_F(RingSetTest, EmptyRingsGiveNothing) {
  make(1 << 16);
  EXPECT_EQ(rings_->fill(), 0);
  EXPECT_TRUE(drain().empty());
}

TEST_F(RingSetTest, MergesTheRingsByTime) {
  make(1 << 16);
  write(0, 100);
  write(0, 400);
  write(1, 50);
  write(1, 300);
  write(1, 500);
  write(2, 200);
  std::vector<u64> times;
  for (const Got& got : drain()) times.push_back(got.time_ns);
  EXPECT_EQ(times, (std::vector<u64>{50, 100, 200, 300, 400, 500}));
  EXPECT_TRUE(drain().empty());
  EXPECT_EQ(rings_->fill(), 0);
}

TEST_F(RingSetTest, LeavesWhatIsTooYoungForLater) {
  make(1 << 16);
  write(0, 100, 1);
  write(0, 300, 2);
  write(1, 250, 3);
  EXPECT_EQ(drain(99).size(), 0u);
  EXPECT_EQ(drain(200), (std::vector<Got>{{100, 1, 0, sizeof(event_header)}}));
  EXPECT_GT(rings_->fill(), 0);
  write(2, 220, 4);  // was on its way
  EXPECT_EQ(drain(), (std::vector<Got>{{220, 4, 2, sizeof(event_header)},
                                       {250, 3, 1, sizeof(event_header)},
                                       {300, 2, 0, sizeof(event_header)}}));
}

TEST_F(RingSetTest, WhatIsSetAsideMakesRoomAndComesInItsTurn) {
  make(4096);
  u64 time_ns = 0;
  const auto fill = [&] {
    u64 written = 0;
    while (write(0, time_ns + 1)) ++time_ns, ++written;
    return written;
  };
  const u64 room = fill();
  ASSERT_GT(room, 10u);
  std::vector<u64> times;
  std::vector<u64> again;
  const KernelTime all(Duration(UINT64_MAX));
  rings_->drain(all, [&](std::span<const std::byte> bytes) {
    event_header header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    times.push_back(header.time_ns);
    if (times.size() > 2) return;
    rings_->set_aside(all);  // as if this record took long
    again.push_back(fill());
    EXPECT_EQ(header.time_ns, times.back());
  });
  EXPECT_EQ(again, (std::vector<u64>{room, room}));
  EXPECT_EQ(times.size(), 2 * room) << "what came after the last look is for the next time";
  for (const Got& got : drain()) times.push_back(got.time_ns);
  ASSERT_EQ(times.size(), 3 * room);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], i + 1);
  EXPECT_FALSE(rings_->has_aside());
  EXPECT_EQ(rings_->fill(), 0);
}

TEST_F(RingSetTest, WhatIsYoungIsNotSetAside) {
  make(1 << 16);
  write(0, 100, 1);
  write(1, 300, 2);
  rings_->set_aside(KernelTime(Duration(200)));
  EXPECT_TRUE(rings_->has_aside());
  write(2, 250, 3);  // was on its way
  EXPECT_EQ(drain(99).size(), 0u);
  EXPECT_EQ(drain(), (std::vector<Got>{{100, 1, 0, sizeof(event_header)},
                                       {250, 3, 2, sizeof(event_header)},
                                       {300, 2, 1, sizeof(event_header)}}));
}

TEST_F(RingSetTest, AHandlerSeesNoMoreThanTheRecordSaysItIs) {
  make(1 << 16);
  write(0, 1, 0, 24);
  write(0, 2, 0, 60'000);  // claims more bytes than it has
  const std::vector<Got> got = drain();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].size, 24u);
  EXPECT_EQ(got[1].size, sizeof(event_header));
}

TEST_F(RingSetTest, SkipsWhatWasGivenBack) {
  make(1 << 16);
  discard(0);
  write(0, 1, 1);
  discard(0);
  discard(0);
  write(0, 2, 2);
  discard(0);
  discard(1);
  EXPECT_EQ(drain(),
            (std::vector<Got>{{1, 1, 0, sizeof(event_header)}, {2, 2, 0, sizeof(event_header)}}));
  EXPECT_EQ(rings_->fill(), 0);
  // Nor do discarded records fill the ring for good.
  for (int i = 0; i < 5'000; ++i) {
    discard(0);
    if (i % 500 == 0) drain();
  }
  EXPECT_TRUE(write(0, 3));
}

TEST_F(RingSetTest, AFullRingRefusesAndHasRoomAgainWhenDrained) {
  make(1 << 16);
  u32 written = 0;
  while (write(0, written, written)) ++written;
  EXPECT_GT(written, (1u << 16) / 64);
  EXPECT_GT(rings_->fill(), 0.9);
  EXPECT_TRUE(write(1, 0));  // the others are not full
  EXPECT_EQ(drain().size(), written + 1);
  EXPECT_EQ(rings_->fill(), 0);
  EXPECT_TRUE(write(0, 1));
}

/// Many times around each ring, with drains in between that leave records: every record once, in
/// the order of its ring, and whole even across the end of the ring.
TEST_F(RingSetTest, LosesNothingOnTheWayAround) {
  make(1 << 12);
  std::mt19937 random(7);
  std::array<u32, ring_count> written{}, read{};
  u64 now_ns = 1, previous_ns = 0;
  const auto take = [&](u64 until_ns) {
    for (const Got& got : drain(until_ns)) {
      ASSERT_EQ(got.mark, read[got.ring]++);
      ASSERT_LE(previous_ns, got.time_ns);
      ASSERT_LE(got.time_ns, until_ns);
      previous_ns = got.time_ns;
    }
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto ring = static_cast<std::uint32_t>(random() % ring_count);
    if (random() % 8 == 0) discard(ring);
    while (!write(ring, ++now_ns, written[ring])) take(now_ns - random() % 20);
    ++written[ring];
    if (random() % 16 == 0) take(now_ns - random() % 200);
  }
  take(UINT64_MAX);
  EXPECT_EQ(read, written);
}

}  // namespace
}  // namespace overdue
