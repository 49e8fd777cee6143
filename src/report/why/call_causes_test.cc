#include "report/why/call_causes.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace overdue {
namespace {

constexpr std::uint64_t ms = 1'000'000;

/// Ten seconds of the calls of one process.
struct Calls {
  Calls() { info.duration = std::chrono::seconds(10); }

  void add(std::string name, std::uint64_t count, std::uint64_t each_ns, std::string error = {},
           std::uint64_t errors = 0) {
    LatencyRow row;
    row.name = std::move(name);
    row.process = ProcessKey{10, "client"};
    row.latency.add(each_ns, count);
    row.errors = errors;
    if (errors > 0) row.errnos = {{std::move(error), errors}};
    table.rows.push_back(std::move(row));
  }
  std::string cause() const {
    const auto causes = retries(table, info);
    return causes.empty() ? "" : causes.front().cause.cause;
  }

  SessionInfo info;
  LatencyTable table;
};

Calls attempts(const std::string& error, std::uint64_t failed = 10) {
  Calls calls;
  calls.add("socket", 10, 2'000);
  calls.add("connect", 10, 5'000, error, failed);
  calls.add("close", 10, 2'000);
  calls.add("clock_nanosleep", 10, 900 * ms);
  return calls;
}

TEST(Retries, OfAServerThatCannotBeReached) {
  for (const std::string error : {"ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"})
    EXPECT_EQ(attempts(error).cause(),
              "retries: connect failed 10 times (" + error + "), and a sleep of 900ms after each");
}

TEST(Retries, OfAUnixSocketThatIsMissing) {
  EXPECT_EQ(attempts("ENOENT").cause(),
            "retries: connect failed 10 times (ENOENT: the unix socket is missing), and a sleep of "
            "900ms after each");
}

TEST(Retries, AreNoLooksForTheSocketOfALog) {
  Calls calls = attempts("ENOENT");
  calls.add("openat", 20, 5'000);
  EXPECT_EQ(calls.cause(), "") << "the program works between its sleeps";
}

TEST(Retries, AreNoLooksForReachableAddresses) {
  EXPECT_EQ(attempts("ENETUNREACH", 5).cause(), "") << "the other connects succeed";
}

TEST(Retries, HaveNoSleepsOfOtherThreads) {
  Calls calls;
  calls.add("recvfrom", 200, 1'000, "EAGAIN", 190);
  calls.add("clock_nanosleep", 200, 20 * ms);
  calls.table.rows.back().latency.add(2'000 * ms, 4);
  EXPECT_NE(calls.cause().find("a sleep of 2"), std::string::npos) << "and not of 58.8 ms";
}

TEST(Retries, HaveAllStepsOfABackOff) {
  Calls calls;
  calls.add("connect", 40, 5'000, "EADDRNOTAVAIL", 40);
  calls.add("clock_nanosleep", 20, 50 * ms);
  LatencyRow& sleeps = calls.table.rows.back();
  sleeps.latency.add(200 * ms, 10);
  sleeps.latency.add(400 * ms, 10);
  EXPECT_EQ(calls.cause(),
            "retries: connect failed 40 times (EADDRNOTAVAIL), and a sleep of 175ms after each");
}

TEST(Retries, AreNoQuestionsWhatAFileIs) {
  Calls calls;
  calls.add("ioctl", 100, 1'000, "ENOTTY", 100);
  calls.add("clock_nanosleep", 100, 50 * ms);
  EXPECT_EQ(calls.cause(), "") << "each time that the program opens a file";
  calls.add("newfstatat", 100, 1'000, "ENOENT", 90);
  EXPECT_EQ(calls.cause(),
            "retries: newfstatat failed 90 times (ENOENT), and a sleep of 50.0ms after each");
}

TEST(Retries, AreOfCallsWhoseErrorsAskForThem) {
  Calls calls;
  calls.add("newfstatat", 30, 2'000, "ENOENT", 20);
  calls.add("fcntl", 20, 2'000, "EAGAIN", 10);
  calls.add("recvfrom", 500, 2'000, "EAGAIN", 400);
  calls.add("clock_nanosleep", 12, 100 * ms);
  EXPECT_TRUE(calls.cause().starts_with("retries: fcntl failed 10 times (EAGAIN)"))
      << calls.cause();
}

TEST(Retries, AreOfCallsThatAreMadeAgain) {
  EXPECT_EQ(attempts("EACCES").cause(), "");
}

}  // namespace
}  // namespace overdue
