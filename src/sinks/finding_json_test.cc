// A finding in JSON, to the letter, with keys that are all in the schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/finding_members.h"
#include "sinks/finding_fixture.h"
#include "sinks/schema_members.h"

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
                          "blocked", "waits", "places", "user_stack", "chain", "cause"));
  EXPECT_EQ(finding["type"], "stall");
  EXPECT_EQ(finding["latency_ns"], 2'310'000'000);
  EXPECT_EQ(finding["breakdown"].dump(),
            R"({"oncpu_ns":8000000,"runqueue_ns":12000000,"preempted_ns":0,"throttled_ns":0,)"
            R"("blocked_ns":2290000000,"irq_ns":0,"softirq_ns":0,"unknown_ns":0})");
  const auto& wait = finding["waits"][0];
  EXPECT_THAT(keys_of(wait), ElementsAre("ns", "runqueue_ns", "throttled_ns", "state",
                                         "kernel_stack", "waker", "ran"));
  EXPECT_EQ(wait["waker"].dump(),
            R"({"pid":203,"tid":203,"comm":"jbd2/vda-8","context":"thread",)"
            R"("stack":[{"name":"wake_up","module":"[kernel]","offset":16}]})");
  EXPECT_EQ(finding["chain"][0]["what"], "waited");
  EXPECT_EQ(finding["chain"][1]["root"], true);
  EXPECT_EQ(finding["user_stack"][2].dump(),
            R"({"name":"main","module":"/bin/io-demo","offset":16})");
}

/// Keys of `object` that are neither in `known`, a definition of the schema, nor in `others`.
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

TEST(FindingJson, SaysWhatWasWaitedForAndWhatSaysSo) {
  Finding f = late_open();
  f.purpose = {"work", "aeMain", 2'300'000'000};
  const std::string text = written("ndjson", f, many);
  const auto finding = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(finding["late_ns"], 10'000'000);
  EXPECT_EQ(finding["waited_for"], "work");
  EXPECT_EQ(finding["decided_by"], "aeMain");
}

TEST(FindingJson, AnInterruptIsNotWhomItMet) {
  Finding f = late_open();
  f.waits[0].waker = Waker{
      .interrupted = {1, 2, "bystander"}, .context = "vector local_timer", .means = "timeout"};
  f.chain[1].interrupted = {3, 4, "another"};
  const std::string text = written("ndjson", f, many);
  const auto finding = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(finding["waits"][0]["waker"].dump(),
            R"({"context":"vector local_timer","means":"timeout",)"
            R"("interrupted":{"pid":1,"tid":2,"comm":"bystander"},"stack":[]})");
  const auto& root = finding["chain"][1];
  EXPECT_FALSE(root.contains("comm"));
  EXPECT_EQ(root["interrupted"]["comm"], "another");
}

TEST(FindingJson, HasNoKeyThatTheSchemaLacks) {
  Finding f = late_open();
  f.type = "hang";
  f.state = "sleeping";
  f.like = f.hang = f.cgroup_id = 1;
  f.is_older = f.waits_forgotten = true;
  f.ended_by = f.thread;
  f.error = "EIO";
  f.purpose = {"unknown", "timed out", 0};
  f.kernel_stack = f.waits[0].kernel_stack;
  f.waits[0].throttle = f.chain[0].throttle = Throttle{"/shop/api", 1, 20'000'000, 100'000'000};
  f.user_stack_end = "cut";
  f.waits[0].preempted_by = f.thread;
  ChainLink& link = f.chain[0];
  link.runqueue_ns = 1;
  link.ran.add(f.thread, 1);
  link.ran.others_ns = 1;
  f.on_cpu = link.on_cpu = {1, {{1, f.kernel_stack}}};
  link.ledger = f.breakdown;
  link.places = {{"sleeping", 1, 1, f.kernel_stack}};
  link.places[0].ran.add(f.thread, 1);
  link.user_stack = link.waking_stack = *f.user_stack;
  f.is_way_back = true;
  f.handler = SignalHandler{"SIGUSR1", 1};
  f.waits[0].means = "stopped";
  f.waits[0].stop = StopSignal{"SIGSTOP", f.thread};
  f.waits[0].tracer = f.thread;
  f.chain[1].disk = "vda";
  link.is_root = link.is_cut = true;
  f.chain[1].what = "preempted";
  const std::string text = written("ndjson", f, many);
  const auto finding = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')));
  nlohmann::ordered_json defs;
  SchemaMembers schema(defs);
  const nlohmann::json late =
      schema.object_of([](Members& member) { describe(member, Finding{}); });
  EXPECT_THAT(unknown_keys(finding, late, {"type"}), IsEmpty());
  EXPECT_EQ(late["properties"]["waits_forgotten"]["type"], "boolean");
  EXPECT_EQ(finding["waits_forgotten"], true);
  EXPECT_THAT(unknown_keys(finding["waits"][0], defs["wait"]), IsEmpty());
  for (const auto& one : finding["chain"]) EXPECT_THAT(unknown_keys(one, defs["link"]), IsEmpty());
  for (const auto& on_cpu : {finding["on_cpu"], finding["chain"][0]["on_cpu"]}) {
    EXPECT_THAT(unknown_keys(on_cpu, defs["on_cpu"]), IsEmpty());
    const nlohmann::json place = defs["on_cpu"]["properties"]["places"]["items"];
    EXPECT_THAT(unknown_keys(on_cpu["places"][0], place), IsEmpty());
  }
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
                          "thread", "cpu", "latency_ns", "waits", "places", "chain", "cause"));
}

}  // namespace
}  // namespace overdue
