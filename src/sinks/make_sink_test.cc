#include "sinks/make_sink.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "sinks/json.h"
#include "sinks/latency_sections.h"
#include "sinks/ndjson.h"

namespace overdue {
namespace {

TEST(MakeSink, KnowsEveryFormatItLists) {
  std::string text;
  Output output(text);
  for (const std::string_view format : sink_formats())
    EXPECT_NE(make_sink(format, output, {}), nullptr) << format;
}

TEST(MakeSink, SuggestsTheFormatMeant) {
  std::string text;
  Output output(text);
  try {
    make_sink("jsn", output, {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown format 'jsn'");
    EXPECT_EQ(error.hint(), "did you mean 'json'? formats: text, json, csv, ndjson, html");
    EXPECT_EQ(error.exit_status(), 2);
  }
}

TEST(MakeSink, RefusesAStreamOnAPage) {
  EXPECT_NO_THROW(refuse_stream_on_page("ndjson", "--calls"));
  EXPECT_THROW(refuse_stream_on_page("html", "--calls"), Error);
}

TEST(MakeSink, WritesStreamsAsLines) {
  std::string text;
  Output output(text);
  EXPECT_NE(dynamic_cast<JsonSink*>(make_sink("json", output, {}).get()), nullptr);
  EXPECT_NE(dynamic_cast<NdjsonSink*>(make_sink("json", output, {.stream = true}).get()), nullptr);
}

TEST(JsonSink, RefusesWhatItWouldHaveToDrop) {
  std::string text;
  Output output(text);
  JsonSink sink(output);
  EXPECT_THROW(sink.section(std::make_shared<LatencySection>(LatencyTable{}, WallTime{})), Error);
}

}  // namespace
}  // namespace overdue
