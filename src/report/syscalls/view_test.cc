#include "report/syscalls/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "sinks/make_sink.h"

namespace overdue::syscalls_view_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

template <typename T>
T wire(u16 kind, u32 nr) {
  T record{};
  record.header.kind = kind;
  record.header.size = sizeof record;
  record.header.tid = 7;
  std::memcpy(record.header.comm, "worker", 6);
  record.nr = nr;
  return record;
}

syscall_call call(u32 nr) {
  return wire<syscall_call>(RECORD_SYSCALL_CALL, nr);
}
syscall_cell cell(u32 nr) {
  auto record = wire<syscall_cell>(RECORD_SYSCALL_CELL, nr);
  record.unreturned = 1;
  return record;
}
syscall_open open_call(u32 nr, u64 age_ns) {
  auto record = wire<syscall_open>(RECORD_SYSCALL_OPEN, nr);
  record.age_ns = age_ns;
  return record;
}

/// A view, and the text that its sink writes.
struct Shown {
  std::string text;
  Output output{text};
  std::unique_ptr<Sink> sink;
  SyscallView view;

  explicit Shown(const ViewOptions& options, std::string_view format = "text")
      : sink(make_sink(format, output, {.color = false, .stream = options.calls})),
        view(options, options.wanted(), *sink) {
    view.begin(SessionInfo{});
  }
  template <typename T>
  Shown& add(const Schema& schema, const T& record) {
    view.record({&schema, std::as_bytes(std::span(&record, 1))});
    return *this;
  }
  std::string end(const Receipt& receipt = {}) {
    view.end(SessionInfo{}, receipt);
    return text;
  }
};

constexpr Schema newer_schema{.id = 77, .name = "newer", .size = 64, .fields = {}, .help = ""};

TEST(SyscallView, AggregatesHaveNoSingleCallsToShow) {
  ViewOptions calls;
  calls.calls = true;
  Shown shown(calls);
  try {
    shown.add(syscall_cell_schema, cell(0));
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no single calls"));
    EXPECT_EQ(error.exit_status(), 1);
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(SyscallView, UnfinishedCallsAreListedBelowSingleCallsInEveryFormat) {
  ViewOptions calls;
  calls.calls = true;
  for (const std::string_view format : sink_formats()) {
    if (format == "html") continue;  // has no place for single calls
    const std::string text = Shown(calls, format)
                                 .add(syscall_call_schema, call(110))
                                 .add(syscall_open_schema, open_call(0, 1'000))
                                 .add(syscall_open_schema, open_call(202, 2'000))
                                 .end();
    EXPECT_THAT(text, AllOf(HasSubstr("getppid"), HasSubstr("read"), HasSubstr("worker")))
        << format;
    EXPECT_THAT(text, HasSubstr("nfinished")) << format;
    EXPECT_LT(text.find("futex"), text.find("read")) << "oldest first, " << format << text;
    EXPECT_THAT(
        text, AnyOf(HasSubstr("1 event,"), HasSubstr("\"events\":1,"), HasSubstr("# events: 1\n")))
        << format;
  }
}

TEST(SyscallView, UnfinishedCallsThatAreNotWantedAreNotListed) {
  ViewOptions calls;
  calls.calls = true;
  calls.only = {"futex"};
  EXPECT_THAT(Shown(calls).add(syscall_open_schema, open_call(0, 1'000)).end(),
              AllOf(Not(HasSubstr("nfinished")), Not(HasSubstr("read"))));
}

TEST(SyscallView, RecordsOfOtherKindsAreNeitherCallsNorLost) {
  ViewOptions discover;
  discover.discover = true;
  for (const ViewOptions& options : {ViewOptions{}, discover}) {
    const std::string text = Shown(options).add(newer_schema, call(110)).end();
    EXPECT_THAT(text, AllOf(HasSubstr(" 0 lost"), Not(HasSubstr("read"))));
  }
}

TEST(SyscallView, CostOfARunDoesNotDependOnWhatIsShown) {
  Receipt receipt;
  receipt.events = 100;
  receipt.probe_runs = 200;
  receipt.probe_ns = 20'000;
  ViewOptions some;
  some.only = {"read"};
  ViewOptions discover;
  discover.discover = true;
  for (const ViewOptions& options : {ViewOptions{}, some, discover}) {
    const std::string text = Shown(options)
                                 .add(syscall_call_schema, call(0))
                                 .add(syscall_call_schema, call(1))
                                 .end(receipt);
    EXPECT_THAT(text, HasSubstr("measuring cost 20.0us in 200 runs of BPF programs, 100ns each"));
  }
}

TEST(SyscallView, UnfinishedCallsBeyondWhatIsKeptAreCounted) {
  Shown shown(ViewOptions{});
  for (std::size_t i = 0; i < SyscallTable::rows_max + 3; ++i)
    shown.add(syscall_open_schema, open_call(0, i));
  EXPECT_THAT(shown.end(), HasSubstr("3 more calls were unfinished"));
}

}  // namespace
}  // namespace overdue::syscalls_view_test
