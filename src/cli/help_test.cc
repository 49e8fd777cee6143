#include "cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/help_page.h"

namespace overdue {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string_view nothing_included(std::string_view) {
  return "";
}

std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

TEST(HelpPage, TakesAPageApart) {
  const auto blocks = parse_help_page(
      "# overdue x - y\n\n## Examples\n\nSome\n`text`.\n\n    one\n\n    two\n\n"
      "## Options\n\n- `-a, --all`\n  Everything\n  there is.\n- `FILE`\n  A file.\n",
      nothing_included);
  ASSERT_EQ(blocks.size(), 7U);
  EXPECT_EQ(blocks[0].text, "overdue x - y");
  EXPECT_EQ(blocks[2].text, "Some `text`.");
  EXPECT_EQ(blocks[3].text, "one\n\ntwo\n");
  EXPECT_EQ(blocks[5].term, "-a, --all");
  EXPECT_EQ(blocks[5].text, "Everything there is.");
  EXPECT_EQ(blocks[6].term, "FILE");
}

TEST(HelpPage, AnIncludedPageBecomesASubsection) {
  const auto blocks = parse_help_page("## Options\n\n[Target](options/target.md)\n\nAfter.\n",
                                      [](std::string_view link) {
                                        EXPECT_EQ(link, "options/target.md");
                                        return std::string_view("# Target\n\n- `-a`\n  All.\n");
                                      });
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[1].kind, HelpBlock::Kind::subsection);
  EXPECT_EQ(blocks[2].term, "-a");
  EXPECT_EQ(blocks[3].text, "After.");
}

TEST(HelpPage, FillsLinesByCodePoints) {
  EXPECT_EQ(filled("aa bb cc", 7, 2), "  aa bb\n  cc\n");
  EXPECT_EQ(filled("…… ……", 5, 0), "…… ……\n");
  EXPECT_EQ(filled("", 5, 2), "");
  EXPECT_EQ(filled("longer-than-the-line x", 5, 0), "longer-than-the-line\nx\n");
}

TEST(Help, EveryPageFits80ColumnsAndShowsExamplesFirst) {
  for (const std::string_view page : help_pages()) {
    const std::string text = help_text(page);
    EXPECT_THAT(text, StartsWith(page == "overdue" ? "overdue - "
                                                   : "overdue " + std::string(page) + " - "));
    const std::size_t examples = text.find("\nExamples\n");
    ASSERT_NE(examples, std::string::npos) << page;
    EXPECT_EQ(text.find('\n'), examples - 1) << page << ": the title and then the examples";
    for (const std::string_view line : split(text, '\n'))
      EXPECT_LE(columns(line), 80U) << page << ": " << line;
    EXPECT_THAT(text, Not(HasSubstr("`"))) << page;
    EXPECT_THAT(text, Not(HasSubstr("]("))) << page;
    EXPECT_THAT(text, Not(HasSubstr("\033"))) << page;
    EXPECT_THAT(text, Not(HasSubstr("\n\n\n"))) << page;
  }
}

TEST(Help, EveryPageHasItsSections) {
  for (const std::string_view page : help_pages()) {
    const std::string text = help_text(page);
    for (const char* section :
         {"\nSynopsis\n", "\nDescription\n", "\nOptions\n", "\nExit status\n", "\nSee also\n"})
      EXPECT_THAT(text, HasSubstr(section)) << page;
    EXPECT_THAT(documented_options(page), Contains("--help")) << page;
    EXPECT_FALSE(help_summary(page).empty()) << page;
  }
}

TEST(Help, DocumentsEachOptionOnce) {
  for (const std::string_view page : help_pages()) {
    const std::vector<std::string> options = documented_options(page);
    EXPECT_EQ(std::ranges::adjacent_find(options), options.end())
        << page << ": " << *std::ranges::adjacent_find(options);
  }
  EXPECT_THAT(documented_options("help"), ElementsAre("--help", "--man", "--options", "-h"));
  EXPECT_THAT(documented_options("syscalls"), Contains("--pid"));
  EXPECT_THAT(documented_options("syscalls"), Contains("-p"));
  EXPECT_THAT(documented_options("report"), Not(Contains("--pid")));
}

TEST(Help, ColorOnlyAddsBold) {
  std::string colored = help_text("syscalls", true);
  EXPECT_THAT(colored, HasSubstr("\033[1mExamples\033[0m"));
  for (const std::string_view mark : {"\033[1m", "\033[0m"}) {
    for (std::size_t at = 0; (at = colored.find(mark)) != std::string::npos;)
      colored.erase(at, mark.size());
  }
  EXPECT_EQ(colored, help_text("syscalls"));
}

TEST(Help, ManPagesHaveNameAndSynopsisFirst) {
  for (const std::string_view page : help_pages()) {
    const std::string roff = man_page(page, "1.2.3");
    EXPECT_THAT(roff, StartsWith(".TH OVERDUE")) << page;
    EXPECT_THAT(roff, HasSubstr("overdue 1.2.3")) << page;
    EXPECT_LT(roff.find(".SH NAME"), roff.find(".SH SYNOPSIS")) << page;
    EXPECT_LT(roff.find(".SH SYNOPSIS"), roff.find(".SH EXAMPLES")) << page;
    EXPECT_THAT(roff, Not(HasSubstr("`"))) << page;
    EXPECT_THAT(roff, Not(HasSubstr("\n\n\n"))) << page;
  }
  EXPECT_THAT(man_page("syscalls", "1"), HasSubstr("\\fB\\-p, \\-\\-pid PID"));
}

TEST(Help, AnUnknownPageIsAUsageError) {
  try {
    help_text("syscals");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    EXPECT_THAT(error.hint(), HasSubstr("'syscalls'"));
  }
}

}  // namespace
}  // namespace overdue
