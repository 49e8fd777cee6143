// Every format against expected text in sinks/, byte for byte. To accept a change, run with
// OVERDUE_UPDATE_GOLDEN=1 and read the diff.
#include <stdlib.h>
#include <time.h>

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "fixture.h"
#include "golden.h"
#include "sinks/json_schema.h"
#include "sinks/latency_sections.h"
#include "sinks/make_sink.h"

namespace overdue {
namespace {

/// Output of a sink of this format between begin and end, while `measure` feeds it.
std::string written(std::string_view format, const SinkOptions& options, const Receipt& receipt,
                    const std::function<void(Sink&)>& measure) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  std::string text;
  Output output(text);
  const auto sink = make_sink(format, output, options);
  SessionInfo at_begin = fixture::session();
  at_begin.duration = Duration{};  // not known yet
  at_begin.notes.clear();
  sink->begin(at_begin);
  measure(*sink);
  sink->end(fixture::session(), receipt);
  return text;
}

void feed_table(Sink& sink) {
  sink.section(std::make_shared<LatencySection>(fixture::table()));
}
void feed_grouped(Sink& sink) {
  sink.section(std::make_shared<LatencySection>(fixture::grouped_table()));
}
void feed_nothing(Sink& sink) {
  sink.section(std::make_shared<LatencySection>(fixture::interval(2)));
}
void feed_names(Sink& sink) {
  sink.section(std::make_shared<NamesSection>(
      std::vector<FoundName>{{"execve"}, {"openat"}, {"i386:open"}}));
}
void feed_names_with_callers(Sink& sink) {
  sink.section(std::make_shared<NamesSection>(
      std::vector<FoundName>{{"openat", CallerName{"libc.so.6", "fopen64"}},
                             {"execve", CallerName{"[unknown]", "[unknown]"}}}));
}
void feed_calls(Sink& sink) {
  for (const auto& stored : fixture::calls()) sink.record(stored.record());
}
void feed_calls_and_unfinished(Sink& sink) {
  feed_calls(sink);
  sink.section(std::make_shared<UnfinishedSection>(fixture::table().unfinished));
}
void feed_plain(Sink& sink) {
  for (const auto& stored : fixture::plain_records()) sink.record(stored.record());
}
void feed_calls_and_table(Sink& sink) {
  feed_calls(sink);
  feed_table(sink);
}
void feed_intervals(Sink& sink) {
  const SessionInfo session = fixture::session();
  WallTime start = session.start_wall;
  for (const int number : {1, 2}) {
    const LatencyTable table = fixture::interval(number);
    sink.section(std::make_shared<LatencySection>(table, start));
    start += table.wall;
  }
  LatencyTable whole = fixture::interval(1);
  whole.wall = Duration(2'000'000'000);
  sink.section(std::make_shared<LatencySection>(whole));
}

TEST(TextGolden, Table) {
  expect_golden("sinks/table.txt", written("text", {}, fixture::receipt(), feed_table));
  expect_golden("sinks/table_color.txt",
                written("text", {.color = true}, fixture::receipt(), feed_table));
  expect_golden("sinks/table_lossy.txt", written("text", {}, fixture::lossy_receipt(), feed_table));
  expect_golden("sinks/table_grouped.txt", written("text", {}, fixture::receipt(), feed_grouped));
  expect_golden("sinks/table_empty.txt", written("text", {}, Receipt{}, feed_nothing));
}

TEST(TextGolden, Streams) {
  expect_golden("sinks/calls.txt",
                written("text", {}, fixture::lossy_receipt(), feed_calls_and_unfinished));
  expect_golden("sinks/calls_and_table.txt",
                written("text", {}, fixture::receipt(), feed_calls_and_table));
  expect_golden("sinks/intervals.txt", written("text", {}, fixture::receipt(), feed_intervals));
  expect_golden("sinks/records.txt", written("text", {}, fixture::receipt(), feed_plain));
  expect_golden("sinks/names.txt", written("text", {}, fixture::receipt(), feed_names));
  expect_golden("sinks/names_with_callers.txt",
                written("text", {}, fixture::receipt(), feed_names_with_callers));
}

TEST(JsonGolden, Reports) {
  expect_golden("sinks/table.json", written("json", {}, fixture::receipt(), feed_table));
  expect_golden("sinks/table_lossy.json",
                written("json", {}, fixture::lossy_receipt(), feed_table));
  expect_golden("sinks/table_grouped.json", written("json", {}, fixture::receipt(), feed_grouped));
  expect_golden("sinks/table_empty.json", written("json", {}, Receipt{}, feed_nothing));
  expect_golden("sinks/names.json", written("json", {}, fixture::receipt(), feed_names));
  expect_golden("sinks/names_with_callers.json",
                written("json", {}, fixture::receipt(), feed_names_with_callers));
}

TEST(NdjsonGolden, Streams) {
  expect_golden("sinks/calls.ndjson",
                written("ndjson", {}, fixture::lossy_receipt(), feed_calls_and_unfinished));
  expect_golden("sinks/calls_and_table.ndjson",
                written("json", {.stream = true}, fixture::receipt(), feed_calls_and_table));
  expect_golden("sinks/intervals.ndjson",
                written("ndjson", {}, fixture::receipt(), feed_intervals));
  expect_golden("sinks/records.ndjson", written("ndjson", {}, fixture::receipt(), feed_plain));
  expect_golden("sinks/names.ndjson", written("ndjson", {}, fixture::receipt(), feed_names));
  expect_golden("sinks/names_with_callers.ndjson",
                written("ndjson", {}, fixture::receipt(), feed_names_with_callers));
}

TEST(CsvGolden, TablesAndStreams) {
  expect_golden("sinks/table.csv", written("csv", {}, fixture::receipt(), feed_table));
  expect_golden("sinks/table_grouped.csv",
                written("csv", {}, fixture::lossy_receipt(), feed_grouped));
  expect_golden("sinks/calls_and_table.csv",
                written("csv", {}, fixture::receipt(), feed_calls_and_table));
  expect_golden("sinks/intervals.csv", written("csv", {}, fixture::receipt(), feed_intervals));
  expect_golden("sinks/records.csv", written("csv", {}, fixture::receipt(), feed_plain));
  expect_golden("sinks/names.csv", written("csv", {}, fixture::receipt(), feed_names));
  expect_golden("sinks/names_with_callers.csv",
                written("csv", {}, fixture::receipt(), feed_names_with_callers));
}

TEST(SchemaGolden, OfTheFixturesRecords) {
  const auto table = std::make_shared<LatencySection>();
  const auto names = std::make_shared<NamesSection>();
  const std::vector<ReportShape> reports{
      {"Latencies by call", {table}},
      {"Names of calls", {names}},
      {"The session of single calls", {std::make_shared<UnfinishedSection>()}}};
  const std::vector<LineShape> lines{{{"interval"}, "One interval", LatencySection::any_interval()},
                                     {{"name"}, "One name", names->element()}};
  expect_golden("sinks/schema.json", json_schema(fixture::schemas(), reports, lines));
}

TEST(AllFormats, LetNothingHostileThrough) {
  for (const std::string_view format : sink_formats()) {
    for (const auto& feed : {feed_grouped, feed_calls_and_unfinished, feed_names, feed_plain}) {
      // A page has no stream of calls or waits.
      const bool is_stream = feed == feed_calls_and_unfinished || feed == feed_plain;
      if (format == "html" && is_stream) continue;
      const std::string text = written(format, {.stream = true}, fixture::receipt(), feed);
      for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        ASSERT_TRUE(byte == '\n' || (byte >= 0x20 && byte < 0x7f)) << format << ": " << text;
      }
    }
  }
}

}  // namespace
}  // namespace overdue
