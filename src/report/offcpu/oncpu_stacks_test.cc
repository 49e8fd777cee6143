#include "report/offcpu/oncpu_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <vector>

#include "bpf/profile.h"
#include "probes/profile/probe.h"

namespace overdue::oncpu_stacks_test {
namespace {

constexpr u64 ms = 1'000'000;

class Namer final : public StackNamer {
 public:
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    Stack stack;
    for (const u64 address : addresses)
      stack.push_back({.name = "f" + std::to_string(address), .is_kernel = true});
    return stack;
  }
  UserStack user_stack(std::uint32_t, const user_registers&, const UserCopy&, KernelTime) override {
    return {};
  }
};

class Oncpu : public testing::Test {
 protected:
  void sample(u32 tid, const char* comm, u64 function) {
    profile_sample fixed{};
    fixed.header.tid = fixed.header.pid = tid;
    std::strncpy(fixed.header.comm, comm, sizeof fixed.header.comm - 1);
    fixed.kernel_frames = 1;
    std::vector<std::byte> bytes(sizeof fixed + sizeof function);
    std::memcpy(bytes.data(), &fixed, sizeof fixed);
    std::memcpy(bytes.data() + sizeof fixed, &function, sizeof function);
    stacks.record({&profile_sample_schema, bytes});
  }
  static OffcpuRow ran(u32 tid, const char* comm, u64 oncpu_ms) {
    OffcpuRow row;
    row.tid = row.pid = tid;
    row.comm = comm;
    row.oncpu_ns = oncpu_ms * ms;
    return row;
  }
  std::string drawn(const std::vector<OffcpuRow>& threads) {
    FlameSink sink("", "folded");
    stacks.draw(threads, sink);
    return sink.text("folded", {}, {});
  }

  Namer namer;
  OncpuStacks stacks{namer};
};

TEST_F(Oncpu, TheTimeOfAThreadIsSharedOutAmongItsSamples) {
  for (int i = 0; i < 2; ++i) sample(7, "one", 1);
  sample(7, "one", 2);
  sample(8, "other", 1);
  EXPECT_EQ(drawn({ran(7, "one", 100), ran(8, "other", 10), ran(9, "third", 1)}),
            "one;f1_[k] 66667\n"
            "one;f2_[k] 33333\n"
            "other;f1_[k] 10000\n"
            "third;on the CPU, without a sample_[x] 1000\n");
}

// The name of the sample counts: a thread may have another name at the end.
TEST_F(Oncpu, RenamedAndUnknownThreadsKeepTheirSamples) {
  sample(7, "GET /1", 1);
  sample(8, "gone", 2);
  EXPECT_EQ(drawn({ran(7, "idle", 4), ran(0, "(other)", 6)}),
            "GET /1;f1_[k] 4000\n"
            "gone;f2_[k] 6000\n");
}

}  // namespace
}  // namespace overdue::oncpu_stacks_test
