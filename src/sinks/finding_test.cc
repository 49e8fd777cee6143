// A finding in text and in JSON, to the letter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "sinks/json_schema.h"
#include "sinks/make_sink.h"
#include "sinks/text_finding.h"

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

StackFrame in_kernel(std::string name, std::uint64_t offset = 0x10) {
  return {.name = std::move(name), .module = "[kernel]", .offset = offset, .is_kernel = true};
}
StackFrame in_program(std::string name) {
  return {.name = std::move(name), .module = "/bin/io-demo", .offset = 0x10};
}

/// As in docs: a file made, its journal awaited.
Finding late_open() {
  Finding f;
  f.number = 1;
  f.span = "syscall";
  f.name = "openat";
  f.arguments = {"dirfd=AT_FDCWD", "pathname=\"/x\""};
  f.time = KernelTime(std::chrono::seconds(100));
  f.thread = {5786, 5786, "io-demo"};
  f.cpu = 1;
  f.latency_ns = 2'310'000'000;
  f.threshold_ns = 2'000'000'000;
  f.result = 7;
  f.breakdown = Breakdown{
      .oncpu_ns = 8'000'000, .runqueue_ns = 12'000'000, .uninterruptible_ns = 2'290'000'000};
  Wait wait{.ns = 2'302'000'000, .runqueue_ns = 12'000'000, .state = "uninterruptible"};
  wait.kernel_stack = {in_kernel("schedule"), in_kernel("jbd2_log_wait_commit"),
                       in_kernel("ext4_create"), in_kernel("do_syscall_64")};
  wait.waker = Waker{.thread = {203, 203, "jbd2/vda-8"},
                     .context = "thread",
                     .is_thread = true,
                     .stack = {in_kernel("wake_up")}};
  wait.behind = ThreadName{0, 71, "kworker/u4:1"};
  f.waits = {wait};
  ChainLink link;
  link.thread = {203, 203, "jbd2/vda-8"};
  link.what = "waited";
  link.ns = 2'270'000'000;
  link.kernel_stack = {in_kernel("schedule"), in_kernel("submit_bio_wait")};
  ChainLink root;
  root.what = "irq 24 virtio1-req.0";
  root.is_root = true;
  f.chain = {link, root};
  f.user_stack = Stack{in_program("openat"), in_program("create_files"), in_program("main"),
                       in_program("__libc_start_call_main"), in_program("_start")};
  f.cause = "syscall|openat|";
  return f;
}

class FindingText : public ::testing::Test {
 protected:
  FindingText() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  static std::string text_of(const Finding& finding, const FindingTextOptions& options = {}) {
    return finding_text(finding, SessionInfo{}, options);
  }
};

TEST_F(FindingText, ReadsAsSentences) {
  EXPECT_EQ(text_of(late_open()),
            "#1 00:01:40.000  openat(dirfd=AT_FDCWD, pathname=\"/x\") = 7  io-demo[5786]  2.31s "
            "(threshold 2.00s)\n"
            "  blocked       2.29s  ext4_create → jbd2_log_wait_commit (D), woken by "
            "jbd2/vda-8[203]\n"
            "    └ jbd2/vda-8[203] waited 2.27s of it in submit_bio_wait\n"
            "      └ irq 24 virtio1-req.0 ended that\n"
            "  run queue    12.0ms  behind kworker/u4:1[71]\n"
            "  on CPU       8.00ms\n"
            "  called from  main → create_files → openat\n");
}

TEST_F(FindingText, ShowsWholeStacksIfAskedTo) {
  EXPECT_THAT(text_of(late_open(), {.whole_stacks = true}),
              HasSubstr("    └ jbd2/vda-8[203] waited 2.27s of it in submit_bio_wait\n"));
  EXPECT_THAT(text_of(late_open(), {.whole_stacks = true}),
              HasSubstr("      ext4_create+0x10\n      do_syscall_64+0x10\n    woken from\n"
                        "        wake_up+0x10\n"));
  EXPECT_THAT(text_of(late_open(), {.whole_stacks = true}),
              HasSubstr("      main+0x10 (/bin/io-demo)\n"));
}

/// io-demo, whose create_files() has name_of() inlined into it.
Finding with_lines() {
  Finding f = late_open();
  Stack& stack = *f.user_stack;
  stack[0].module = "/lib/x86_64-linux-gnu/libc.so.6";
  stack[0].file = "open64.c";
  stack[0].line = 41;
  StackFrame library = in_program("std::invoke<int>");
  library.file = "/usr/include/c++/12/functional";
  library.line = 111;
  StackFrame own = in_program("make_file(int)");
  own.file = "/src/io_demo.cc";
  own.line = 17;
  library.is_inlined = own.is_inlined = true;
  library.offset = own.offset = 0;
  stack.insert(stack.begin() + 1, {library, own});
  stack[3].file = "/src/io_demo.cc";
  stack[3].line = 40;
  return f;
}

TEST_F(FindingText, SaysWhereInTheSource) {
  EXPECT_THAT(
      text_of(with_lines()),
      HasSubstr("  called from  main → create_files → make_file(int) → openat, io_demo.cc:17\n"));
  EXPECT_THAT(text_of(with_lines(), {.whole_stacks = true}),
              HasSubstr("      std::invoke<int> (/bin/io-demo) /usr/include/c++/12/functional:111 "
                        "(inlined)\n"
                        "      make_file(int) (/bin/io-demo) /src/io_demo.cc:17 (inlined)\n"
                        "      create_files+0x10 (/bin/io-demo) /src/io_demo.cc:40\n"
                        "      main+0x10 (/bin/io-demo)\n"));
}

TEST_F(FindingText, MarksWhereFunctionsMayBeMissing) {
  Finding f = late_open();
  (*f.user_stack)[1].follows_gap = true;
  EXPECT_THAT(text_of(f), HasSubstr("  called from  main → create_files → … → openat\n"));
  EXPECT_THAT(text_of(f, {.whole_stacks = true}),
              HasSubstr("      openat+0x10 (/bin/io-demo)\n"
                        "      … (functions may be missing here)\n"
                        "      create_files+0x10 (/bin/io-demo)\n"));
  // Beside those that are left out there is no second mark.
  f.user_stack->insert(f.user_stack->begin() + 1, 6, in_program("f"));
  (*f.user_stack)[7].follows_gap = true;
  EXPECT_THAT(text_of(f), HasSubstr("  called from  main → … → f → f → f → openat\n"));
}

TEST_F(FindingText, LeavesOutWhatIsNotKnown) {
  Finding f = late_open();
  f.waits[0].kernel_stack.clear();
  f.waits[0].waker.reset();
  f.waits[0].behind.reset();
  f.chain[0].kernel_stack.clear();
  f.user_stack.reset();
  EXPECT_EQ(text_of(f),
            "#1 00:01:40.000  openat(dirfd=AT_FDCWD, pathname=\"/x\") = 7  io-demo[5786]  2.31s "
            "(threshold 2.00s)\n"
            "  blocked       2.29s  (D)\n"
            "    └ jbd2/vda-8[203] waited 2.27s of it\n"
            "      └ irq 24 virtio1-req.0 ended that\n"
            "  run queue    12.0ms\n"
            "  on CPU       8.00ms\n");
}

TEST_F(FindingText, TellsWhatAThreadOfTheChainWaitedForACpu) {
  Finding f = late_open();
  f.chain.resize(1);
  f.chain[0].runqueue_ns = 2'000'000'000;
  f.chain[0].behind = ThreadName{0, 9, "hog"};
  EXPECT_THAT(text_of(f),
              HasSubstr("└ jbd2/vda-8[203] waited 2.27s of it in submit_bio_wait, 2.00s "
                        "of that in the run queue behind hog[9]\n"));
  f.chain[0].user_stack = *f.user_stack;
  EXPECT_THAT(text_of(f), HasSubstr(" behind hog[9], called from main → create_files → openat\n"));
  f.chain[0].user_stack.clear();
  f.chain[0].what = "preempted";
  EXPECT_THAT(text_of(f), HasSubstr("└ jbd2/vda-8[203] was preempted for 2.27s of it in "
                                    "submit_bio_wait, by hog[9]\n"));
  f.chain[0] = {};
  f.chain[0].thread = {1, 2, "x"};
  f.chain[0].what = "ran";
  EXPECT_THAT(text_of(f), Not(HasSubstr("└"))) << "woken by it: said already";
  f.chain[0].is_cut = true;
  EXPECT_THAT(text_of(f), HasSubstr("└ x[2] ended that, and so on (cut)\n"));
}

TEST_F(FindingText, HasNoChainOfAWaitThatHardlyMattered) {
  Finding f = late_open();
  f.breakdown = Breakdown{.runqueue_ns = 2'309'000'000, .uninterruptible_ns = 1'000'000};
  f.waits[0].ns = f.latency_ns;
  f.waits[0].runqueue_ns = 2'309'000'000;
  EXPECT_THAT(text_of(f), Not(HasSubstr("└")));
  EXPECT_THAT(text_of(f), HasSubstr("run queue     2.31s  behind kworker/u4:1[71]\n"));
}

TEST_F(FindingText, ShowsThreeWaitsAndWhatIsLeft) {
  Finding f = late_open();
  f.chain.clear();
  const Wait wait = f.waits[0];
  f.waits.clear();
  for (const std::uint64_t ms : {100U, 500U, 300U, 200U, 150U}) {
    Wait& shorter = f.waits.emplace_back();
    shorter.ns = ms * 1'000'000;
    shorter.state = "sleeping";
    shorter.kernel_stack = wait.kernel_stack;
  }
  EXPECT_THAT(text_of(f), HasSubstr("  blocked       500ms  ext4_create → jbd2_log_wait_commit\n"
                                    "  blocked       300ms  ext4_create → jbd2_log_wait_commit\n"
                                    "  blocked       200ms  ext4_create → jbd2_log_wait_commit\n"
                                    "  blocked       1.29s  in 2 more waits, and shorter ones\n"));
  f.waits.resize(2);
  EXPECT_THAT(text_of(f), HasSubstr("  blocked       1.69s  in shorter waits\n"));
}

TEST_F(FindingText, CutsLongPathsInTheMiddle) {
  Finding f = late_open();
  Stack stack;
  for (const char* name : {"write", "f", "e", "d", "c", "b", "main", "_start"})
    stack.push_back(in_program(name));
  f.user_stack = stack;
  EXPECT_THAT(text_of(f), HasSubstr("called from  main → … → d → e → f → write\n"));
  f.user_stack_end = "cut";
  f.user_stack->resize(3);
  EXPECT_THAT(text_of(f), HasSubstr("called from  e → f → write (cut)\n"));
  f.user_stack = Stack{in_program("_start")};
  EXPECT_THAT(text_of(f), HasSubstr("called from  _start (cut)\n"));
}

TEST_F(FindingText, NamesFailuresAndHangs) {
  Finding f = late_open();
  f.result = -2;
  f.error = "ENOENT";
  f.type = "hang";
  f.threshold_ns = 0;
  EXPECT_THAT(text_of(f), HasSubstr(") = -2 ENOENT  io-demo[5786]  open for 2.31s\n"));
  EXPECT_THAT(text_of(f), Not(HasSubstr("still")));
  f.state = "uninterruptible";
  EXPECT_THAT(text_of(f), HasSubstr("  still uninterruptible (D), for 2.30s now\n"));
  f.span = "softirq";
  f.name = "NET_RX";
  EXPECT_THAT(text_of(f), HasSubstr("softirq NET_RX  io-demo[5786]"));
}

TEST_F(FindingText, PrintsNothingOfOthersUnescaped) {
  Finding f = late_open();
  f.thread.comm = "a\033[2J";
  f.waits[0].waker->thread.comm = "b\nc";
  f.waits[0].behind->comm = "d\re";
  const std::string text = text_of(f);
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, HasSubstr("a\\x1b[2J[5786]"));
  EXPECT_THAT(text, HasSubstr("woken by b\\nc[203]"));
  EXPECT_THAT(text, HasSubstr("behind d\\x0de[71]"));
}

TEST_F(FindingText, SaysWhoWasNotKnown) {
  Finding f = late_open();
  f.waits[0].waker->thread = {0, 44, ""};
  f.waits[0].behind = ThreadName{};
  EXPECT_THAT(text_of(f), HasSubstr("woken by thread[44]"));
  f.waits[0].waker = Waker{.context = "unknown"};
  EXPECT_THAT(text_of(f), HasSubstr("jbd2_log_wait_commit (D)\n"));
  f.waits_forgotten = true;
  EXPECT_THAT(text_of(f), HasSubstr("(waits of its beginning were not kept)\n"));
}

std::string written(std::string_view format, const Finding& finding, const Repeats& repeats) {
  std::string text;
  Output output(text);
  const auto sink = make_sink(format, output, {.color = false, .stream = true});
  sink->begin(SessionInfo{});
  sink->finding(finding);
  sink->more_like(repeats);
  sink->end(SessionInfo{}, Receipt{});
  output.flush();
  return text;
}

const Repeats many{.number = 3,
                   .name = "fsync",
                   .count = 1234,
                   .latency_ns = 5'000'000'000,
                   .longest_ns = 9'000'000};

TEST_F(FindingText, EndsInWhatWasNotShown) {
  EXPECT_THAT(written("text", late_open(), many),
              HasSubstr("\n\n1,234 more like #3: fsync, 5.00s in all, longest 9.00ms\n\n"));
  Repeats one = many;
  one.count = 1;
  EXPECT_THAT(written("text", late_open(), one),
              HasSubstr("\n\n1 more like #3: fsync, 9.00ms\n\n"));
}

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(FindingJson, HasTheKeysOfTheContract) {
  const std::string text = written("ndjson", late_open(), many);
  const auto finding = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')));
  EXPECT_THAT(keys_of(finding),
              ElementsAre("type", "number", "span", "name", "time_ns", "pid", "tid", "comm",
                          "thread", "cpu", "latency_ns", "threshold_ns", "args", "ret", "breakdown",
                          "blocked", "waits", "user_stack", "chain", "cause"));
  EXPECT_EQ(finding["type"], "stall");
  EXPECT_EQ(finding["latency_ns"], 2'310'000'000);
  EXPECT_EQ(
      finding["breakdown"].dump(),
      R"({"oncpu_ns":8000000,"runqueue_ns":12000000,"preempted_ns":0,"blocked_ns":2290000000,)"
      R"("irq_ns":0,"softirq_ns":0,"unknown_ns":0})");
  const auto& wait = finding["waits"][0];
  EXPECT_THAT(keys_of(wait),
              ElementsAre("ns", "runqueue_ns", "state", "kernel_stack", "waker", "behind"));
  EXPECT_EQ(wait["waker"].dump(),
            R"({"pid":203,"tid":203,"comm":"jbd2/vda-8","context":"thread",)"
            R"("stack":[{"name":"wake_up","module":"[kernel]","offset":16}]})");
  EXPECT_EQ(finding["chain"][0]["what"], "waited");
  EXPECT_EQ(finding["chain"][1]["root"], true);
  EXPECT_EQ(finding["user_stack"][2].dump(),
            R"({"name":"main","module":"/bin/io-demo","offset":16})");
}

/// Keys of `object` that are neither in `known` nor in `others`, of the schema's definitions.
std::vector<std::string> unknown_keys(const nlohmann::ordered_json& object,
                                      const nlohmann::json& known,
                                      std::initializer_list<std::string_view> others = {}) {
  std::vector<std::string> unknown;
  for (const std::string& key : keys_of(object))
    if (!known.at("properties").contains(key) &&
        std::find(others.begin(), others.end(), key) == others.end())
      unknown.push_back(key);
  return unknown;
}

TEST(FindingJson, HasNoKeyThatTheSchemaLacks) {
  Finding f = late_open();
  f.type = "hang";
  f.state = "sleeping";
  f.like = f.hang = f.cgroup_id = 1;
  f.is_older = f.waits_forgotten = true;
  f.ended_by = f.thread;
  f.error = "EIO";
  f.kernel_stack = f.waits[0].kernel_stack;
  f.user_stack_end = "cut";
  f.waits[0].displacer = f.thread;
  ChainLink& link = f.chain[0];
  link.runqueue_ns = 1;
  link.behind = f.thread;
  link.user_stack = *f.user_stack;
  link.is_root = link.is_cut = true;
  f.chain[1].what = "preempted";
  f.chain[1].behind = f.thread;
  const std::string text = written("ndjson", f, many);
  const auto finding = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')));
  const auto defs = nlohmann::json::parse(json_schema({})).at("$defs");
  EXPECT_THAT(unknown_keys(finding, defs["finding"], {"type"}), IsEmpty());
  EXPECT_EQ(defs["finding"]["properties"]["waits_forgotten"]["const"], finding["waits_forgotten"]);
  EXPECT_THAT(unknown_keys(finding["waits"][0], defs["wait"]), IsEmpty());
  for (const auto& one : finding["chain"])
    EXPECT_THAT(unknown_keys(one, defs["link"], {"pid", "tid", "comm"}), IsEmpty());
}

TEST(FindingJson, HasLinesWhereThoseAreKnown) {
  const std::string text = written("ndjson", with_lines(), many);
  const auto stack = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')))["user_stack"];
  EXPECT_EQ(stack[2].dump(), R"x({"name":"make_file(int)","module":"/bin/io-demo","offset":0,)x"
                             R"x("file":"/src/io_demo.cc","line":17,"inlined":true})x");
  EXPECT_EQ(stack[3].dump(), R"({"name":"create_files","module":"/bin/io-demo","offset":16,)"
                             R"("file":"/src/io_demo.cc","line":40})");
}

TEST(FindingJson, MarksWhereFramesMayBeMissing) {
  Finding f = late_open();
  (*f.user_stack)[1].follows_gap = true;
  const std::string text = written("ndjson", f, many);
  const auto stack = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')))["user_stack"];
  EXPECT_FALSE(stack[0].contains("gap"));
  EXPECT_EQ(stack[1]["gap"], true);
}

TEST(FindingJson, HasOneLineAFindingAndTheReceiptLast) {
  Finding f = late_open();
  f.thread.comm = "a\n\033\"b";
  const std::string text = written("ndjson", f, many);
  std::vector<nlohmann::ordered_json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(nlohmann::ordered_json::parse(line));
  std::vector<std::string> types;
  for (const auto& line : lines) {
    EXPECT_EQ(line.begin().key(), "type");
    types.push_back(line["type"]);
  }
  EXPECT_THAT(types, ElementsAre("stall", "more", "report", "receipt"));
  EXPECT_EQ(lines[1].dump(),
            R"({"type":"more","like":3,"name":"fsync","count":1234,"latency_ns":5000000000,)"
            R"("longest_ns":9000000})");
}

TEST(FindingJson, SaysNothingOfWhatIsNotKnown) {
  Finding f;
  f.span = "irq";
  f.name = "irq 24";
  const std::string text = written("ndjson", f, many);
  const auto finding = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')));
  EXPECT_THAT(keys_of(finding),
              ElementsAre("type", "number", "span", "name", "time_ns", "pid", "tid", "comm",
                          "thread", "cpu", "latency_ns", "waits", "chain", "cause"));
}

}  // namespace
}  // namespace overdue
