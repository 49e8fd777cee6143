#include "sinks/output.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"

namespace overdue {
namespace {

TEST(Output, KeepsOrderAcrossItsBuffer) {
  std::string text, expected;
  {
    Output output(text);
    for (std::uint64_t i = 0; i < 30'000; ++i) {
      output.append_number(i);
      output.append(' ');
      expected += std::to_string(i) + " ";
    }
    const std::string large(200'000, 'x');
    output.append(large);
    output.append_number(std::int64_t{INT64_MIN});
    expected += large + "-9223372036854775808";
  }
  EXPECT_EQ(text, expected);
}

TEST(Output, WritesNothingBeforeItMust) {
  std::string text;
  Output output(text);
  output.append("hello");
  EXPECT_EQ(text, "");
  output.flush();
  EXPECT_EQ(text, "hello");
  output.flush();
  EXPECT_EQ(text, "hello");
}

std::string failure(int fd) {
  Output output(fd);
  output.append("report");
  try {
    output.flush();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Output, SaysWhyItCannotWrite) {
  const Fd full(::open("/dev/full", O_WRONLY));
  EXPECT_EQ(failure(full.get()), "cannot write the report: No space left on device");
  EXPECT_EQ(failure(-1), "cannot write the report: Bad file descriptor");

  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd write_end(ends[1]);
  ::close(ends[0]);
  EXPECT_EQ(failure(write_end.get()), "cannot write the report: Broken pipe");
}

TEST(Output, EndsSilentlyBehindAReaderThatHasGone) {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  Output output{Fd(ends[1])};
  output.append("report");
  try {
    output.flush();
    FAIL() << "written to a pipe without a reader";
  } catch (const Error& error) {
    EXPECT_TRUE(error.is_silent());
    EXPECT_EQ(error.exit_status(), 128 + SIGPIPE);
  }
}

TEST(Output, FailsOnceNotTwice) {
  Output output(Fd(::open("/dev/full", O_WRONLY)));
  output.append("report");
  EXPECT_THROW(output.flush(), Error);
  EXPECT_NO_THROW(output.flush()) << "what could not be written was dropped";
}

TEST(Output, WaitsForANonBlockingReader) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const Fd reader(ends[0]);
  std::size_t read_bytes = 0;
  std::thread thread([&] {
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::read(reader.get(), buffer, sizeof buffer);
      if (got == 0) return;
      if (got > 0) read_bytes += static_cast<std::size_t>(got);
    }
  });
  {
    Output output{Fd(ends[1])};
    const std::string block(1000, 'x');
    for (int i = 0; i < 5000; ++i) output.append(block);
    output.flush();
  }
  thread.join();
  EXPECT_EQ(read_bytes, 5'000'000u);
}

TEST(Output, CloseSaysWhatTheFileSystemRefusesOnlyThen) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  {
    Output output{Fd(ends[1])};
    output.append("report");
    output.close();
    char text[16];
    EXPECT_EQ(::read(reader.get(), text, sizeof text), 6);
    EXPECT_EQ(::read(reader.get(), text, sizeof text), 0) << "still open";
  }
  const int stolen = ::dup(reader.get());
  Output output{Fd(stolen)};
  ASSERT_EQ(::close(stolen), 0);  // makes close(2) in Output fail
  EXPECT_THROW(output.close(), Error);
}

TEST(Output, CloseLeavesSomebodyElsesDescriptorOpen) {
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Output(null.get()).close();
  EXPECT_EQ(::write(null.get(), "x", 1), 1);
}

}  // namespace
}  // namespace overdue
