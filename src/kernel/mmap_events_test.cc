// The kernel's events of real processes, and the decoding of its records.

#include "kernel/mmap_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <thread>

#include "kernel/child_fixture.h"

namespace overdue {
namespace {

using Kind = ProcessEvent::Kind;

struct Identity {
  std::uint32_t pid = 11, tid = 12;
  std::uint64_t time = 13;
};

class PerfEvent {
 public:
  explicit PerfEvent(std::uint32_t type, std::uint16_t misc = 0) : header_{type, misc, 0} {
    put(header_);
  }
  template <typename T>
  PerfEvent& put(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  PerfEvent& text(std::string_view text) {
    for (const char c : text) put(c);
    do put('\0');
    while (bytes_.size() % 8 != 0);
    return *this;
  }
  std::vector<std::byte> end() {
    put(Identity());
    header_.size = static_cast<std::uint16_t>(bytes_.size());
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    return bytes_;
  }

 private:
  perf_event_header header_;
  std::vector<std::byte> bytes_;
};

std::vector<std::byte> mapping_record(std::uint16_t misc = 0) {
  return PerfEvent(PERF_RECORD_MMAP2, misc)
      .put(21u)
      .put(22u)
      .put(std::uint64_t{0x1000})
      .put(std::uint64_t{0x2000})
      .put(std::uint64_t{0x3000})
      .put(0x02010804u)  // either device 0x2010804:7, or a build id of 4 bytes
      .put(7u)
      .put(std::uint64_t{9})
      .put(std::uint64_t{0})
      .put(5u)
      .put(2u)
      .text("/a b (deleted)")
      .end();
}

TEST(PerfRecords, AMapping) {
  ProcessEvent event;
  ASSERT_EQ(decode_perf_record(mapping_record(), event), PerfRecord::event);
  EXPECT_EQ(event.kind, Kind::mapping);
  EXPECT_EQ(event.pid, 11);
  EXPECT_EQ(event.time, KernelTime(Duration(13)));
  EXPECT_EQ(event.start, 0x1000u);
  EXPECT_EQ(event.end, 0x3000u);
  EXPECT_EQ(event.file_offset, 0x3000u);
  EXPECT_EQ(event.device_minor, 7u);
  EXPECT_EQ(event.inode, 9u);
  EXPECT_TRUE(event.is_executable);
  EXPECT_EQ(event.text, "/a b (deleted)");
  EXPECT_EQ(event.build_id, "");
}

TEST(PerfRecords, ABuildId) {
  ProcessEvent event;
  ASSERT_EQ(decode_perf_record(mapping_record(PERF_RECORD_MISC_MMAP_BUILD_ID), event),
            PerfRecord::event);
  EXPECT_EQ(event.build_id, "07000000");
  EXPECT_EQ(event.inode, 0u);
  EXPECT_EQ(event.device_major, 0u);
}

TEST(PerfRecords, TasksAndNames) {
  ProcessEvent event;
  const auto fork =
      PerfEvent(PERF_RECORD_FORK).put(31u).put(30u).put(32u).put(30u).put(std::uint64_t{5});
  ASSERT_EQ(decode_perf_record(PerfEvent(fork).end(), event), PerfRecord::event);
  EXPECT_EQ(event.kind, Kind::fork);
  EXPECT_EQ(event.pid, 31);
  EXPECT_EQ(event.tid, 32);
  EXPECT_EQ(event.parent_pid, 30);
  auto name =
      PerfEvent(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC).put(41u).put(42u).text("sh").end();
  ASSERT_EQ(decode_perf_record(name, event), PerfRecord::event);
  EXPECT_EQ(event.kind, Kind::exec);
  EXPECT_EQ(event.tid, 42);
  EXPECT_EQ(event.text, "sh");
  const auto lost = PerfEvent(PERF_RECORD_LOST).put(std::uint64_t{1}).put(std::uint64_t{17}).end();
  ASSERT_EQ(decode_perf_record(lost, event), PerfRecord::event);
  EXPECT_EQ(event.kind, Kind::lost);
  EXPECT_EQ(event.lost_events, 17u);
  EXPECT_EQ(decode_perf_record(PerfEvent(PERF_RECORD_SAMPLE).end(), event), PerfRecord::unwanted);
}

TEST(PerfRecords, NoLengthIsBelieved) {
  ProcessEvent event;
  const auto whole = mapping_record();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto cut = std::vector(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(decode_perf_record(cut, event), PerfRecord::malformed) << size;
    if (size < sizeof(perf_event_header)) continue;
    const auto length = static_cast<std::uint16_t>(size);
    std::memcpy(cut.data() + 6, &length, sizeof length);
    decode_perf_record(cut, event);  // any result, but no read beyond the end
  }
}

class MmapEventsTest : public KernelTest {
 protected:
  std::vector<ProcessEvent> events_of(MmapEvents& news, std::uint32_t pid) {
    std::vector<ProcessEvent> events;
    news.drain(KernelClock::now(), [&](const ProcessEvent& event) {
      if (event.pid == static_cast<pid_t>(pid)) events.push_back(event);
    });
    EXPECT_TRUE(std::ranges::is_sorted(events, {}, &ProcessEvent::time));
    EXPECT_EQ(news.malformed(), 0u);
    return events;
  }
  static const ProcessEvent* find(const std::vector<ProcessEvent>& events, Kind kind,
                                  std::string_view text = {}) {
    for (const ProcessEvent& event : events)
      if (event.kind == kind && event.text.find(text) != std::string::npos) return &event;
    return nullptr;
  }
};

TEST_F(MmapEventsTest, ForkExecMappingsAndEnd) {
  MmapEvents news;
  const KernelTime before = KernelClock::now();
  Child child([](Child&) { execl("/bin/true", "true", nullptr); });
  child.go();
  child.end();
  const auto events = events_of(news, child.pid());
  const ProcessEvent* fork = find(events, Kind::fork);
  ASSERT_NE(fork, nullptr);
  EXPECT_EQ(fork->parent_pid, getpid());
  EXPECT_GT(fork->time, before);
  EXPECT_LT(fork->time, KernelClock::now());
  const ProcessEvent* exec = find(events, Kind::exec, "true");
  ASSERT_NE(exec, nullptr);
  struct stat status{};
  ASSERT_EQ(stat("/bin/true", &status), 0);
  const ProcessEvent* mapping = find(events, Kind::mapping, "/true");
  ASSERT_NE(mapping, nullptr);
  EXPECT_GT(mapping->time, exec->time);
  EXPECT_TRUE(mapping->is_executable);
  EXPECT_EQ(mapping->inode, status.st_ino);
  EXPECT_NE(find(events, Kind::mapping, "libc.so"), nullptr);
  EXPECT_NE(find(events, Kind::mapping, "[vdso]"), nullptr);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().kind, Kind::exit);
}

TEST_F(MmapEventsTest, LibrariesAndNamesOfThreads) {
  MmapEvents news;
  Child child([](Child& self) {
    self.step();
    dlopen("libutil.so.1", RTLD_NOW);
    std::thread([] { pthread_setname_np(pthread_self(), "of a thread"); }).join();
    self.step();
  });
  child.run_step();
  events_of(news, child.pid());
  child.run_step();
  const auto events = events_of(news, child.pid());
  EXPECT_NE(find(events, Kind::mapping, "libutil"), nullptr);
  const ProcessEvent* name = find(events, Kind::name, "of a thread");
  ASSERT_NE(name, nullptr);
  EXPECT_NE(name->tid, name->pid);
}

TEST_F(MmapEventsTest, BuildIds) {
  MmapEvents news({.build_ids = true});
  Child child([](Child&) { execl("/bin/true", "true", nullptr); });
  child.go();
  child.end();
  const auto events = events_of(news, child.pid());
  const ProcessEvent* mapping = find(events, Kind::mapping, "/true");
  ASSERT_NE(mapping, nullptr);
  EXPECT_THAT(mapping->build_id, testing::MatchesRegex("[0-9a-f]{40}"));
}

TEST_F(MmapEventsTest, WhatFindsNoRoomIsCounted) {
  MmapEvents news({.bytes_per_cpu = 4096});
  Child child([](Child& self) {
    for (int i = 0; i < 500; ++i)
      munmap(mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    self.step();
    munmap(mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
  });
  child.run_step();
  std::uint64_t lost = 0;
  const auto count = [&](const ProcessEvent& event) { lost += event.lost_events; };
  news.drain(KernelClock::now(), count);
  child.go();  // the kernel reports the loss once there is room again
  child.end();
  for (int i = 0; i < 100 && lost == 0; ++i) {
    Child other([](Child&) {});
    other.go();
    other.end();
    news.drain(KernelClock::now(), count);
  }
  EXPECT_GT(lost, 100u);
  EXPECT_EQ(news.lost(), lost);
}

TEST_F(MmapEventsTest, WhatIsNotOldEnoughStays) {
  MmapEvents news;
  Child child([](Child&) {});
  const KernelTime middle = KernelClock::now();
  child.go();
  child.end();
  std::size_t early = 0, late = 0;
  const auto count = [&](std::size_t& sum) {
    return [&](const ProcessEvent& event) { sum += event.pid == static_cast<pid_t>(child.pid()); };
  };
  news.drain(middle, count(early));
  news.drain(KernelClock::now(), count(late));
  EXPECT_GT(early, 0u);  // its fork
  EXPECT_GT(late, 0u);   // its end
}

}  // namespace
}  // namespace overdue
