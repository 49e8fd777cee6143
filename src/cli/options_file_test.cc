#include "cli/options_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/error.h"

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// A command's parser, with an option of each sort.
class OptionsOfFile : public ::testing::Test {
 protected:
  OptionsOfFile() {
    app_.name("offcpu");
    app_.set_help_flag();
    app_.add_option("-p,--pid", pids_)->allow_extra_args(false)->take_all()->group(target_group);
    app_.add_flag("-a,--all", all_)->group(target_group);
    app_.add_option("-d,--duration", duration_);
    app_.add_option("--flame", flame_);
    app_.add_flag("-q,--quiet", quiet_);
    app_.add_flag("-v,--verbose", verbose_);
    app_.add_option("file", positional_);
    add_options_file(app_, path_);
  }

  std::vector<std::string> words_of(std::string_view text,
                                    const std::vector<std::string>& words = {},
                                    bool has_program = false) {
    return OptionsFile("my.options", text).words_beside(app_, words, has_program);
  }

  std::string refusal(std::string_view text) {
    try {
      words_of(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), 2) << error.what();
      return std::string(error.what()) + " | " + error.hint();
    }
    ADD_FAILURE() << "was accepted";
    return {};
  }

  CLI::App app_;
  std::vector<std::string> pids_, positional_;
  std::string duration_, flame_, path_;
  bool all_ = false, quiet_ = false, verbose_ = false;
};

TEST_F(OptionsOfFile, ANameAndItsValueAreALine) {
  EXPECT_THAT(
      words_of("# as we always look\n\n  # more\nduration 10s\n--flame =  a b=c.svg \r\nquiet"),
      ElementsAre("--duration", "10s", "--flame", "a b=c.svg", "--quiet"));
  EXPECT_THAT(words_of("flame=x#1.svg"), ElementsAre("--flame", "x#1.svg"));
  EXPECT_THAT(words_of("pid 1,2\npid\t3"), ElementsAre("--pid", "1,2", "--pid", "3"));
}

TEST_F(OptionsOfFile, QuotesAroundAWholeValueAreLeftOut) {
  EXPECT_THAT(words_of("flame \" x.svg\""), ElementsAre("--flame", " x.svg"));
  EXPECT_THAT(words_of("flame ''"), ElementsAre("--flame", ""));
  EXPECT_THAT(words_of("flame 'a' 'b"), ElementsAre("--flame", "'a' 'b"));
}

TEST_F(OptionsOfFile, TheCommandLineHasPrecedence) {
  constexpr std::string_view text = "duration 10s\nflame x.svg\nquiet\nverbose";
  EXPECT_THAT(words_of(text, {"-d5s", "--flame=y.svg", "-qv"}), IsEmpty());
  EXPECT_THAT(words_of(text, {"--duration", "--flame", "-q"}),
              ElementsAre("--flame", "x.svg", "--verbose"))
      << "--flame and -q: here the word behind --duration is its value";
  EXPECT_THAT(words_of("quiet", {"--quiet=false"}), IsEmpty());
  EXPECT_THAT(words_of("pid 1\npid 2", {"-p", "3"}), IsEmpty());
}

TEST_F(OptionsOfFile, ATargetOfTheCommandLineReplacesTheTargetOfTheFile) {
  EXPECT_THAT(words_of("all\nquiet", {"-p", "3"}), ElementsAre("--quiet"));
  EXPECT_THAT(words_of("pid 1\nquiet", {"-a"}), ElementsAre("--quiet"));
  EXPECT_THAT(words_of("pid 1\nquiet", {}, true), ElementsAre("--quiet"));
  EXPECT_THAT(words_of("pid 1\nquiet", {"-d", "1s"}), ElementsAre("--pid", "1", "--quiet"));
}

TEST_F(OptionsOfFile, TheParserTakesTheWordsAsTheyAre) {
  std::vector<std::string> words = words_of("flame -x --all\nquiet false\npid 1\npid -2");
  std::ranges::reverse(words);
  app_.parse(words);
  EXPECT_EQ(flame_, "-x --all");
  EXPECT_FALSE(quiet_);
  EXPECT_FALSE(all_);
  EXPECT_THAT(pids_, ElementsAre("1", "-2"));
}

TEST_F(OptionsOfFile, AMistakeIsReportedWithItsLineAndWhatIsMeant) {
  EXPECT_EQ(refusal("\nduraton 10s"),
            "my.options:2: unknown option 'duraton' | did you mean duration?");
  EXPECT_EQ(refusal("-d 10s"), "my.options:1: unknown option 'd' | long names only: duration");
  EXPECT_EQ(refusal("# x\nduration"),
            "my.options:2: 'duration' needs a value | duration TIME");  // of the page of offcpu
  EXPECT_EQ(refusal("all # of them"),
            "my.options:1: 'all' takes no value: '# of them' | "
            "write all alone; a comment has a line of its own");
  EXPECT_THAT(refusal("options other"), StartsWith("my.options:1: a file of options cannot"));
  EXPECT_THAT(refusal("file x"), StartsWith("my.options:1: unknown option 'file'"));
  EXPECT_THAT(refusal("= 3"), StartsWith("my.options:1: there is no option on this line"));
  EXPECT_THAT(refusal("--"), StartsWith("my.options:1: there is no option on this line"));
  EXPECT_THAT(refusal(std::string_view("fla\0me x", 8)),
              HasSubstr("my.options:1: this is not text"));
  EXPECT_THAT(refusal("\x1b[31m 1"), HasSubstr(R"(unknown option '\x1b[31m')"));
}

TEST_F(OptionsOfFile, AMistakeIsReportedEvenIfTheCommandLineReplacesTheLine) {
  EXPECT_THROW(words_of("duration", {"-d", "10s"}), Error);
}

TEST_F(OptionsOfFile, AnErrorAboutAnOptionOfTheFileHasItsLine) {
  OptionsFile file("my.options", "quiet\nduration 10\nflame a,b.svg");
  file.words_beside(app_, {}, false);
  const auto located = [&](const std::string& message) {
    const Error error = file.located(Error("{}", message).hint("then").exit_status(2));
    EXPECT_EQ(error.exit_status(), 2);
    return std::string(error.what()) + " | " + error.hint();
  };
  EXPECT_EQ(located("bad time '10' for --duration: no unit"),
            "my.options:2: bad time '10' for --duration: no unit | then");
  EXPECT_EQ(located("-d is too short"), "my.options:2: -d is too short | then");
  EXPECT_EQ(located("no format 'b.svg'"), "my.options:3: flame: no format 'b.svg' | then");
  EXPECT_EQ(located("--duration-of is bad"),
            "--duration-of is bad | then; the options in my.options count too");
  EXPECT_EQ(std::string(file.located(Error("disk full")).what()), "disk full");
  EXPECT_TRUE(file.located(Error("gone").silently()).is_silent());
}

TEST_F(OptionsOfFile, AnErrorAboutAnOptionOfTheCommandLineHasNone) {
  OptionsFile file("my.options", "duration 10s");
  file.words_beside(app_, {"-d", "10"}, false);
  const Error error = file.located(Error("bad time '10s' for --duration").exit_status(2));
  EXPECT_STREQ(error.what(), "bad time '10s' for --duration");
  EXPECT_EQ(error.hint(), "");
}

class OptionsOnDisk : public OptionsOfFile {
 protected:
  OptionsOnDisk() { std::filesystem::create_directory(folder_); }
  ~OptionsOnDisk() override { std::filesystem::remove_all(folder_); }

  std::string refusal_to_read(const std::string& path) {
    try {
      OptionsFile::read(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), 2);
      EXPECT_FALSE(error.hint().empty());
      return error.what();
    }
    ADD_FAILURE() << "was read";
    return {};
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("options_file_test.{}", getpid());
};

TEST_F(OptionsOnDisk, TheWordsNameTheFile) {
  const std::string path = folder_ / "my options";
  std::ofstream(path) << "duration 10s\n";
  EXPECT_FALSE(OptionsFile::named_in(app_, {"-d", "1s"}));
  EXPECT_FALSE(OptionsFile::named_in(app_, {"--duration", "--options", path}));
  EXPECT_FALSE(OptionsFile::named_in(app_, {"--options"}));  // the parser reports this
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-q", "--options", path}, {"--options=" + path, "-q"}}) {
    std::optional<OptionsFile> file = OptionsFile::named_in(app_, words);
    ASSERT_TRUE(file);
    EXPECT_THAT(file->words_beside(app_, words, false), ElementsAre("--duration", "10s"));
  }
}

TEST_F(OptionsOnDisk, OnlyABoundedRegularFileIsRead) {
  EXPECT_THAT(refusal_to_read(folder_ / "none"), HasSubstr("No such file"));
  EXPECT_THAT(refusal_to_read(folder_), HasSubstr("no regular file"));
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(refusal_to_read(fifo), HasSubstr("no regular file"));
  const std::string large = folder_ / "large";
  std::ofstream(large) << std::string(64 << 10, '\n') << '\n';
  EXPECT_THAT(refusal_to_read(large), HasSubstr("longer than 64 KiB"));
}

}  // namespace
}  // namespace overdue
