#include "sinks/html.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "core/finding_members.h"
#include "core/schema.h"
#include "sinks/finding_fixture.h"
#include "sinks/make_sink.h"

namespace overdue {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Times {
  std::uint64_t run_ns = 0, wait_ns = 0, lock_ns = 0, disk_ns = 0;
};

void describe(Members& member, const Times& times) {
  member.object("parts",
                [&] {
                  member("oncpu_ns", times.run_ns);
                  member("blocked_ns", times.wait_ns);
                },
                {.look = Look::parts});
  member.object("reasons",
                [&] {
                  member("futex_ns", times.lock_ns);
                  member("disk_ns", times.disk_ns);
                },
                {.look = Look::parts, .part_of = "blocked_ns"});
}

struct Thread {
  std::string name;
  std::uint32_t tid = 0;
  std::uint64_t total_ns = 0;
  Times times = {};
  std::vector<Bucket> buckets = {};
  std::map<std::string, std::uint64_t> errors = {};
  std::optional<Finding> example = {};
};

void describe(Members& member, const Thread& thread) {
  member("name", thread.name);
  member("tid", thread.tid);
  member("total_ns", thread.total_ns, {.help = "a \"sum\""});
  describe(member, thread.times);
  member("buckets", thread.buckets);
  member("errors", thread.errors);
  member("example", thread.example, {.help = "the longest"});
}

class ThreadsSection final : public Section {
 public:
  explicit ThreadsSection(std::vector<Thread> threads) : threads_(std::move(threads)) {}
  void members(Members& member, const ReportContext&) const override {
    member("verdict", "a<b", {.look = Look::headline});
    member("by", "thread");
    member("share", 0.25);
    member("threads", threads_, {.title = "Who"});
    member("next", std::vector<std::string>{"overdue x -p 1"},
           {.title = "Look closer", .look = Look::command});
  }
  std::string text(const ReportContext&) const override { return {}; }

 private:
  std::vector<Thread> threads_;
};

SessionInfo info_of(std::string command) {
  SessionInfo info;
  info.command = std::move(command);
  info.host = "h<i>ost";
  info.target.kind = "command";
  info.target.values = {"</title><script>alert(1)</script>"};
  return info;
}

std::string page_of(const SectionPtr& section) {
  std::string text;
  {
    Output output(text);
    HtmlSink sink(output);
    const SessionInfo info = info_of("why");
    sink.begin(info);
    if (section) sink.section(section);
    sink.end(info, Receipt{});
  }
  return text;
}

std::string page_of(std::vector<Thread> threads) {
  return page_of(std::make_shared<ThreadsSection>(std::move(threads)));
}

TEST(HtmlSink, ShowsAListOfObjectsAsATableThatCanBeSorted) {
  const std::string page =
      page_of(std::vector<Thread>{{.name = "dw", .tid = 1234, .total_ns = 1500000}});
  EXPECT_THAT(page, HasSubstr("<h2>Who</h2>"));
  EXPECT_THAT(page,
              HasSubstr("<th scope=\"col\" title=\"a &quot;sum&quot;\" class=\"number\"><button "
                        "type=\"button\">total</button></th>"));
  EXPECT_THAT(page, HasSubstr("<td data-label=\"total\" data-value=\"1500000\" "
                              "class=\"number\">1.50ms</td>"));
  EXPECT_THAT(page, HasSubstr(">1234</td>")) << "a name, not a quantity";
}

TEST(HtmlSink, LeavesOutColumnsWithoutAValue) {
  const std::string page = page_of(std::vector<Thread>{{.name = "a"}, {.name = "b"}});
  EXPECT_THAT(page, Not(HasSubstr(">buckets<")));
  EXPECT_THAT(page, Not(HasSubstr(">errors<")));
  EXPECT_THAT(page_of(std::vector<Thread>{{.name = "a", .errors = {{"EAGAIN", 2}}}}),
              AllOf(HasSubstr(">errors<"), HasSubstr("EAGAIN 2")));
}

TEST(HtmlSink, ShowsPartsAsABarInWhichPartsOfPartsStandForTheWhole) {
  const std::string page = page_of(std::vector<Thread>{
      {.name = "a", .times = {.run_ns = 10, .wait_ns = 90, .lock_ns = 60, .disk_ns = 30}}});
  EXPECT_THAT(page, HasSubstr("<rect class=\"held\" x=\"0.0\" width=\"600.0\" height=\"12\">"
                              "<title>futex 60ns, 60.0 %</title></rect>"
                              "<rect class=\"disk\" x=\"600.0\" width=\"300.0\" height=\"12\">"));
  EXPECT_THAT(page, HasSubstr("on CPU&#160;10&#160;%"));
  EXPECT_THAT(page, Not(HasSubstr("blocked&#160;")));
}

TEST(HtmlSink, ShowsBucketsAsADrawing) {
  const std::string page = page_of(
      std::vector<Thread>{{.name = "a", .buckets = {{1000, 2000, 5}, {4000, std::nullopt, 10}}}});
  EXPECT_THAT(page, HasSubstr("<title>1.00us to 2.00us: 5</title>"));
  EXPECT_THAT(page, HasSubstr("<title>4.00us and more: 10</title>"));
}

TEST(HtmlSink, ShowsAFindingBelowItsRowAsPeopleReadOne) {
  const std::string page =
      page_of(std::vector<Thread>{{.name = "a", .example = late_open()}, {.name = "b"}});
  EXPECT_THAT(page, HasSubstr("<details open=\"open\"><summary>the longest</summary><pre>#1 "));
  EXPECT_THAT(page, Not(HasSubstr("kernel stack")));
}

TEST(HtmlSink, EscapesEveryText) {
  const std::string hostile = "<img src=x onerror=alert(1)>\"'&\u202e\x1b[2J\n</pre>";
  Finding finding = late_open();
  finding.thread.comm = hostile;
  const std::string page = page_of(std::vector<Thread>{
      {.name = hostile, .errors = {{hostile, 1}}, .example = std::move(finding)}});
  EXPECT_THAT(page, HasSubstr("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  EXPECT_THAT(page, HasSubstr("<p class=\"headline\">a&lt;b</p>"));
  for (const char c : {'\x1b', '\x7f'}) EXPECT_EQ(page.find(c), std::string::npos);
  EXPECT_THAT(page, Not(HasSubstr("\u202e")));
}

TEST(HtmlSink, AllowsItsOwnScriptAndStylesOnly) {
  const std::string page = page_of(SectionPtr());
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(page, Not(HasSubstr("style=\""))) << "the policy would refuse it";
  EXPECT_THAT(page, HasSubstr("0 events, 0 lost"));
}

TEST(HtmlSink, RefusesRecords) {
  std::string text;
  Output output(text);
  HtmlSink sink(output);
  const Schema schema{.id = 1, .name = "call", .size = 0, .fields = {}, .help = ""};
  EXPECT_THROW(sink.record({.schema = &schema, .bytes = {}}), Error);
}

}  // namespace
}  // namespace overdue
