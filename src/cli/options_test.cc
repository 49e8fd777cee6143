#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace overdue {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The message and the hint of a usage error; the test fails if there is none.
std::string refusal(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2) << error.what();
    EXPECT_FALSE(error.hint().empty()) << error.what();
    return std::string(error.what()) + " | " + error.hint();
  }
  ADD_FAILURE() << "was accepted";
  return {};
}

std::optional<Duration> duration(const std::string& text) {
  return StopOptions{.duration = text}.parsed();
}

OutputOptions with_interval(const std::string& text) {
  OutputOptions options;
  options.interval = text;
  return options;
}

ViewOptions by(std::vector<std::string> keys) {
  ViewOptions options;
  options.by = std::move(keys);
  return options;
}

TEST(StopOptions, TakesATimeWithAUnit) {
  EXPECT_EQ(StopOptions{}.parsed(), std::nullopt);
  EXPECT_EQ(duration("10ms"), Duration(std::chrono::milliseconds(10)));
  EXPECT_EQ(duration("1.5s"), Duration(std::chrono::milliseconds(1500)));
  EXPECT_EQ(duration("2h"), Duration(std::chrono::hours(2)));
  EXPECT_EQ(duration("1ns"), Duration(1));
  EXPECT_EQ(duration("1000000h"), Duration(std::chrono::hours(1'000'000)));
}

TEST(StopOptions, RefusesWhatIsNoTime) {
  for (const char* bad : {"", " ", "10", "-1s", "s", "1 s", "ten", "1x", "0x10s", "nan", "infs",
                          "1e300s", "0s", "0ns", "9999999999h", "1s2"})
    EXPECT_THAT(refusal([&] { duration(bad); }), HasSubstr("--duration")) << bad;
}

TEST(OutputOptions, AnIntervalIsAtLeastTenMilliseconds) {
  EXPECT_EQ(OutputOptions{}.parsed_interval(), std::nullopt);
  EXPECT_EQ(with_interval("10ms").parsed_interval(), Duration(std::chrono::milliseconds(10)));
  for (const char* bad : {"", "9.99ms", "0s", "1", "-1s"})
    EXPECT_THAT(refusal([&] { with_interval(bad).parsed_interval(); }), HasSubstr("--interval"))
        << bad;
}

TEST(BufferSize, TakesBytesAndUnitsAndRoundsUp) {
  EXPECT_EQ(parse_buffer_size("65536"), 64u << 10);
  EXPECT_EQ(parse_buffer_size("64k"), 64u << 10);
  EXPECT_EQ(parse_buffer_size("65537"), 128u << 10);
  EXPECT_EQ(parse_buffer_size("100K"), 128u << 10);
  EXPECT_EQ(parse_buffer_size("8M"), 8u << 20);
  EXPECT_EQ(parse_buffer_size("9m"), 16u << 20);
  EXPECT_EQ(parse_buffer_size("1G"), 1u << 30);
  EXPECT_EQ(parse_buffer_size("1024M"), 1u << 30);
}

TEST(BufferSize, RefusesWhatIsNoneOrOutOfRange) {
  for (const char* bad : {"",
                          " ",
                          "k",
                          "M",
                          "-1",
                          "-8M",
                          "+8M",
                          "0",
                          "63k",
                          "65535",
                          "1025M",
                          "2G",
                          "8 M",
                          "8MB",
                          "8T",
                          "0x10000",
                          "1.5M",
                          "99999999999999999999",
                          "18446744073709551615",
                          "18014398509481984k"})
    EXPECT_THAT(refusal([&] { parse_buffer_size(bad); }), HasSubstr("--buffer")) << bad;
}

TEST(GroupByOption, TakesKeysByCommaAndByRepetition) {
  EXPECT_EQ(by({}).group_by(), GroupBy{});
  EXPECT_EQ(by({"syscall"}).group_by(), GroupBy{});
  EXPECT_EQ(by({"process"}).group_by(), (GroupBy{.process = true}));
  EXPECT_EQ(by({"process,thread"}).group_by(), (GroupBy{.process = true, .thread = true}));
  EXPECT_EQ(by({"thread", "container"}).group_by(), (GroupBy{.thread = true, .container = true}));
  EXPECT_EQ(by({"thread,thread,"}).group_by(), (GroupBy{.thread = true}));
}

TEST(GroupByOption, RefusesUnknownKeysAndSuggestsTheNearest) {
  EXPECT_THAT(refusal([] { by({"proces"}).group_by(); }),
              AllOf(HasSubstr("'proces'"), HasSubstr("did you mean 'process'?")));
  EXPECT_THAT(refusal([] { by({"thread,threda"}).group_by(); }),
              HasSubstr("did you mean 'thread'?"));
  EXPECT_THAT(refusal([] { by({"zzzzzzzzzz"}).group_by(); }), HasSubstr("keys: syscall, process"));
  EXPECT_THAT(refusal([] { by({"\x1b[31m"}).group_by(); }), HasSubstr("\\x1b[31m"));
}

TEST(GroupByOption, TakesLibraryFunctions) {
  EXPECT_EQ(by({"library,caller"}).group_by(), (GroupBy{.library = true, .caller = true}));
  EXPECT_EQ(by({"process,caller"}).group_by(), (GroupBy{.process = true, .caller = true}));
}

TEST(GroupByOption, GoesWithDiscoverForLibraryFunctionsOnly) {
  for (const char* keys : {"caller", "library", "syscall,library,caller"}) {
    ViewOptions options = by({keys});
    options.discover = true;
    EXPECT_NO_THROW(options.check()) << keys;
    options.by.emplace_back("process");
    EXPECT_THAT(refusal([&] { options.check(); }), HasSubstr("--by")) << keys;
  }
}

TEST(RowLimit, IsANumberOfRows) {
  ViewOptions options;
  EXPECT_EQ(options.row_limit(), 0u);
  options.top = 10;
  EXPECT_EQ(options.row_limit(), 10u);
  options.top = -3;
  EXPECT_THAT(refusal([&] { options.row_limit(); }), HasSubstr("--top -3"));
}

TEST(OnlyOption, SuggestsTheNearestCallAndTakesLists) {
  ViewOptions options;
  EXPECT_EQ(options.wanted(), std::nullopt);
  options.only = {"openat,close", "%network"};
  const auto set = options.wanted();
  ASSERT_TRUE(set);
  EXPECT_TRUE((*set)[ABI_NATIVE][257]);
  EXPECT_TRUE((*set)[ABI_NATIVE][3]);
  EXPECT_TRUE((*set)[ABI_NATIVE][41]);  // socket
  EXPECT_FALSE((*set)[ABI_NATIVE][0]);
  options.only = {"opnat"};
  EXPECT_THAT(refusal([&] { options.wanted(); }), HasSubstr("openat"));
}

/// The options after parsing, as the commands parse them.
struct Parsed {
  TargetOptions target;
  StopOptions stop;
  OutputOptions output;
  ViewOptions view;

  explicit Parsed(std::vector<std::string> arguments) {
    CLI::App app;
    add_target_options(app, target);
    add_stop_options(app, stop);
    add_output_options(app, output, true);
    add_view_options(app, view);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
  }
};

TEST(Options, ListsAreGivenByRepetitionAndTakeOneValueEach) {
  const Parsed parsed({"-p", "1,2", "-p", "3", "-n", "a*", "--by", "thread", "--by", "process",
                       "-e", "openat", "-e", "!close"});
  EXPECT_THAT(parsed.target.pids, ::testing::ElementsAre("1,2", "3"));
  EXPECT_THAT(parsed.target.names, ::testing::ElementsAre("a*"));
  EXPECT_THAT(parsed.view.by, ::testing::ElementsAre("thread", "process"));
  EXPECT_THAT(parsed.view.only, ::testing::ElementsAre("openat", "!close"));
  EXPECT_THROW(Parsed({"-p", "1", "2"}), CLI::ParseError);  // 2 is not a second -p
}

TEST(Options, DefaultsAreThoseOfTheHelp) {
  const Parsed parsed({});
  EXPECT_EQ(parsed.output.format, "text");
  EXPECT_EQ(parsed.output.color, "auto");
  EXPECT_EQ(parsed.view.sort_column(), "total");
  EXPECT_EQ(parsed.view.row_limit(), 0u);
  EXPECT_FALSE(parsed.target.all || parsed.target.no_follow || parsed.view.calls);
  EXPECT_EQ(parsed.stop.parsed(), std::nullopt);
}

TEST(Options, AnEmptyTimeIsABadTime) {
  EXPECT_THAT(refusal([] { Parsed({"-d", ""}).stop.parsed(); }), HasSubstr("--duration"));
  EXPECT_THAT(refusal([] { Parsed({"-i", ""}).output.parsed_interval(); }),
              HasSubstr("--interval"));
}

TEST(Options, UnknownOnesAreRefused) {
  EXPECT_THROW(Parsed({"--no-such-option"}), CLI::ParseError);
  EXPECT_THROW(Parsed({"--color", "sometimes"}), CLI::ParseError);
  EXPECT_THROW(Parsed({"--top", "many"}), CLI::ParseError);
  EXPECT_THROW(Parsed({"-d"}), CLI::ParseError);
}

}  // namespace
}  // namespace overdue
