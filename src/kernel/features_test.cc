#include "kernel/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "kernel/host.h"
#include "kernel/syscall_table.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

/// A /proc and a /sys with only the files that the test wrote.
class FakeKernel : public ::testing::Test {
 protected:
  FakeKernel() {
    char path[] = "/tmp/overdue-features-XXXXXX";
    root_ = ::mkdtemp(path);
  }
  ~FakeKernel() override { fs::remove_all(root_); }
  void write(const fs::path& name, std::string_view text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  fs::path proc() const { return root_ / "proc"; }
  fs::path sys() const { return root_ / "sys"; }

  fs::path root_;
};

void expect_explained(const Support& support, std::string_view what) {
  if (support.yes) return;
  EXPECT_FALSE(support.missing.empty()) << what;
  EXPECT_FALSE(support.remedy.empty()) << what;
}

TEST(Facilities, EveryNoHereSaysWhyAndWhatWouldChangeIt) {
  const Kernel kernel;
  for (const Facility& facility : facilities())
    expect_explained((kernel.*facility.ask)(), facility.name);
  expect_explained(kernel.tracer("no_such_tracer"), "tracer");
  expect_explained(kernel.tracepoint("syscalls", "sys_enter_no_such_call"), "tracepoint");
  expect_explained(kernel.btf_tracepoint("no_such_tracepoint"), "btf_tracepoint");
  EXPECT_FALSE(kernel.tracer("no_such_tracer").yes);
  EXPECT_FALSE(kernel.tracepoint("syscalls", "sys_enter_no_such_call").yes);
  EXPECT_FALSE(kernel.btf_tracepoint("no_such_tracepoint").yes);
}

TEST(Facilities, EachCanBeHiddenAlone) {
  for (const Facility& facility : facilities()) {
    Kernel kernel;
    kernel.pretend_missing({std::string(facility.name)});
    const Support support = (kernel.*facility.ask)();
    EXPECT_FALSE(support.yes) << facility.name;
    EXPECT_THAT(support.missing, ::testing::HasSubstr(facility.name));
    EXPECT_THAT(support.remedy, ::testing::HasSubstr("--without"));
  }
}

TEST(Facilities, HidingOneHidesWhatNeedsIt) {
  Kernel kernel;
  kernel.pretend_missing({"btf", "tracefs"});
  EXPECT_THAT(kernel.btf_tracepoint("sys_enter").missing, ::testing::HasSubstr("btf"));
  EXPECT_FALSE(kernel.task_iterator().yes);
  EXPECT_FALSE(kernel.fentry().yes);
  EXPECT_FALSE(kernel.tracepoints().yes);
  EXPECT_FALSE(kernel.tracer("nop").yes);
  EXPECT_EQ(kernel.tracefs_path(), std::nullopt);
}

TEST(Facilities, HidingForgetsWhatWasAnsweredBefore) {
  Kernel kernel;
  kernel.btf_tracepoints();
  kernel.pretend_missing({"btf"});
  EXPECT_FALSE(kernel.btf_tracepoints().yes);
}

TEST(Facilities, AnUnknownNameIsAUsageErrorThatSuggests) {
  Kernel kernel;
  try {
    kernel.pretend_missing({"fentri"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("fentri"));
    EXPECT_THAT(error.hint(), ::testing::HasSubstr("fentry"));
  }
}

TEST_F(FakeKernel, AnEmptyMachineHasNothingAndSaysWhy) {
  const Kernel kernel(proc(), sys());
  for (const Facility& facility : facilities())
    expect_explained((kernel.*facility.ask)(), facility.name);
  EXPECT_FALSE(kernel.privileges().yes);
  EXPECT_FALSE(kernel.btf().yes);
  EXPECT_FALSE(kernel.btf_tracepoints().yes);
  EXPECT_FALSE(kernel.tracefs().yes);
  EXPECT_FALSE(kernel.task_storage().yes);
  EXPECT_FALSE(kernel.kprobe().yes);
  EXPECT_FALSE(kernel.kernel_addresses().yes);
  EXPECT_EQ(kernel.lockdown(), "unknown");
  EXPECT_EQ(kernel.cgroup_layout(), CgroupLayout::none);
  EXPECT_EQ(kernel.unprivileged_bpf_disabled(), std::nullopt);
}

TEST_F(FakeKernel, FindsTracefsWhereItIsMounted) {
  const fs::path mount = root_ / "odd place";
  write("odd place/events/syscalls/sys_enter_openat/id", "782\n");
  write("odd place/available_tracers", "blk nop\n");
  const std::string escaped = root_.string() + "/odd\\040place";
  write("proc/mounts", "nodev " + escaped + " tracefs rw 0 0\ncgroup2 /c cgroup2 rw 0 0\n");
  const Kernel kernel(proc(), sys());
  EXPECT_EQ(kernel.tracefs_path(), mount);
  EXPECT_TRUE(kernel.tracefs().yes);
  EXPECT_TRUE(kernel.tracepoints().yes);
  EXPECT_TRUE(kernel.tracer("nop").yes);
  EXPECT_FALSE(kernel.tracer("blk n").yes);
  EXPECT_FALSE(kernel.tracer("no").yes);
  EXPECT_EQ(kernel.cgroup_layout(), CgroupLayout::v2);
}

TEST_F(FakeKernel, ReadsLockdownAndAddresses) {
  write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
  write("proc/kallsyms", "0000000000000000 T _stext\n0000000000000000 T do_one_initcall\n");
  EXPECT_EQ(Kernel(proc(), sys()).lockdown(), "integrity");
  EXPECT_FALSE(Kernel(proc(), sys()).kernel_addresses().yes);
  write("proc/kallsyms", "ffffffff81000000 T _stext\n");
  EXPECT_TRUE(Kernel(proc(), sys()).kernel_addresses().yes);
  write("proc/kallsyms",
        "0000000000000000 A fixed_percpu_data\n0000000000001000 A cpu_debug_store\n");
  EXPECT_TRUE(Kernel(proc(), sys()).kernel_addresses().yes);
}

TEST_F(FakeKernel, CapabilitiesOfAUserNamespaceDoNotCount) {
  write("proc/thread-self/status", "Name:\tx\nCapPrm:\t000001ffffffffff\n");
  write("proc/self/uid_map", "         0          0 4294967295\n");
  EXPECT_TRUE(own_capabilities(proc()).has(Capability::bpf));
  write("proc/self/uid_map", "         0       1000          1\n");
  EXPECT_FALSE(own_capabilities(proc()).has(Capability::bpf));
  EXPECT_FALSE(own_capabilities(proc()).initial_namespace());
}

TEST(Capabilities, AdminStandsInForWhatWasSplitFromIt) {
  const CapabilitySet admin(1ull << 21);
  EXPECT_TRUE(admin.has(Capability::bpf));
  EXPECT_TRUE(admin.has(Capability::perfmon));
  EXPECT_FALSE(admin.has(Capability::sys_ptrace));
}

TEST(Capabilities, TheMissingOnesAreNamedInOneSentence) {
  const CapabilitySet only_bpf(1ull << 39);
  EXPECT_NO_THROW(require_capabilities("syscalls", {}, CapabilitySet(0)));
  try {
    require_capabilities("syscalls", measuring_capabilities(), only_bpf);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "overdue syscalls is missing CAP_PERFMON");
    EXPECT_EQ(error.exit_status(), 1);
    EXPECT_THAT(error.hint(), ::testing::HasSubstr("sudo overdue syscalls"));
    EXPECT_THAT(error.hint(), ::testing::HasSubstr("setcap cap_bpf,cap_perfmon"));
  }
}

TEST(Host, CountsCpuLists) {
  EXPECT_EQ(count_cpus("0-3,5"), 5u);
  EXPECT_EQ(count_cpus("7"), 1u);
  EXPECT_EQ(count_cpus(""), 0u);
  EXPECT_EQ(count_cpus("3-1"), 0u);
  EXPECT_EQ(count_cpus("x"), 0u);
}

TEST_F(FakeKernel, TicksAreToBeReliedOnWhereNoCpuMayGoWithout) {
  EXPECT_GE(tick_period(sys()), Duration(std::chrono::microseconds(500)));
  EXPECT_LE(tick_period(sys()), Duration(std::chrono::milliseconds(10)));
  write("sys/devices/system/cpu/nohz_full", "(null)\n");
  EXPECT_GT(tick_period(sys()), Duration(0));
  write("sys/devices/system/cpu/nohz_full", "1-3\n");
  EXPECT_EQ(tick_period(sys()), Duration(0));
}

TEST(Host, ReadsBothClocksTogether) {
  const KernelTime before = KernelClock::now();
  const ClockPair pair = read_clocks();
  EXPECT_GE(pair.monotonic, before);
  EXPECT_LE(pair.monotonic, KernelClock::now());
  EXPECT_GT(pair.wall.time_since_epoch().count(), 0);
  EXPECT_GT(read_host().online_cpus, 0u);
}

TEST(SyscallTable, TheKernelNamesItsOwnCalls) {
  const SyscallSymbols all = kernel_syscall_symbols();
  if (all.empty()) GTEST_SKIP() << "this kernel does not show its table";
  EXPECT_GT(all.size(), 300u);
#if defined(__x86_64__)
  EXPECT_THAT(all.at(0), ::testing::EndsWith("_sys_read"));
  EXPECT_THAT(all.at(39), ::testing::EndsWith("_sys_getpid"));
  EXPECT_THAT(all.at(257), ::testing::EndsWith("_sys_openat"));
#endif
  const SyscallSymbols late = kernel_syscall_symbols(400);
  ASSERT_FALSE(late.empty());
  EXPECT_GE(late.begin()->first, 400u);
  EXPECT_EQ(late.begin()->second, all.at(late.begin()->first));
}

}  // namespace
}  // namespace overdue
