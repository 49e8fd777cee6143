#include "flame/formats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "flame/folded.h"
#include "flame/pprof.h"
#include "flame/speedscope.h"

namespace overdue {
namespace {

StackTree measured(std::string_view lines, WeightUnit unit = WeightUnit::samples) {
  StackTree tree(unit);
  FoldedReader reader([&](const FoldedStack& stack) { tree.add(stack.frames, stack.weight); });
  reader.feed(lines);
  reader.finish();
  return tree;
}

std::string uncompressed(const std::string& gzip) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text(1 << 20, '\0');
  std::string copy = gzip;
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST(FlameFormat, FollowsTheEndOfTheName) {
  EXPECT_EQ(flame_format_of("a.html"), "html");
  EXPECT_EQ(flame_format_of("a.folded"), "folded");
  EXPECT_EQ(flame_format_of("a.speedscope.json"), "speedscope");
  EXPECT_EQ(flame_format_of("cpu.pb.gz"), "pprof");
  EXPECT_EQ(flame_format_of("a.json"), "svg");
  EXPECT_EQ(flame_format_of(""), "svg");
}

TEST(FlameFormat, EachOneWritesSomethingElse) {
  const StackTree tree = measured("t;a 1\n");
  std::vector<std::string> texts;
  for (const std::string_view format : flame_formats()) {
    texts.push_back(flame_text(tree, {}, format));
    EXPECT_FALSE(texts.back().empty());
    EXPECT_EQ(std::ranges::count(texts, texts.back()), 1) << format;
  }
}

TEST(Speedscope, HasAProfileForEachThreadTheHeaviestFirst) {
  EXPECT_EQ(speedscope_json(measured("light;a 1\nheavy;a;b 3\nheavy;a 2\n"), "two \"threads\"\n"),
            "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
            "\"exporter\":\"overdue " OVERDUE_VERSION
            "\",\n"
            "\"name\":\"two \\\"threads\\\"\\\\n\",\n\"activeProfileIndex\":0,\n"
            "\"shared\":{\"frames\":[\n{\"name\":\"a\"},\n{\"name\":\"b\"}]},\n\"profiles\":[\n"
            "{\"type\":\"sampled\",\"name\":\"heavy\",\"unit\":\"none\",\"startValue\":0,"
            "\"endValue\":5,\n\"samples\":[[0],[0,1]],\n\"weights\":[2,3]},\n"
            "{\"type\":\"sampled\",\"name\":\"light\",\"unit\":\"none\",\"startValue\":0,"
            "\"endValue\":1,\n\"samples\":[[0]],\n\"weights\":[1]}]}\n");
}

TEST(Speedscope, NamesTheUnit) {
  EXPECT_NE(
      speedscope_json(measured("t;a 1", WeightUnit::microseconds), "").find("\"microseconds\""),
      std::string::npos);
  EXPECT_NE(speedscope_json(measured("t;a 1", WeightUnit::bytes), "").find("\"bytes\""),
            std::string::npos);
}

TEST(Speedscope, AThreadAloneIsItsOwnFrame) {
  const std::string json = speedscope_json(measured("t 1"), "");
  EXPECT_NE(json.find("[\n{\"name\":\"t\"}]"), std::string::npos) << json;
  EXPECT_NE(json.find("\"samples\":[[0]]"), std::string::npos) << json;
}

TEST(Speedscope, JoinsStacksWithoutAThread) {
  const std::string json = speedscope_json(measured("main_[u];a 1\nstart_[u];b 2"), "");
  EXPECT_NE(json.find("\"name\":\"all threads\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"samples\":[[0,1],[2,3]]"), std::string::npos) << json;
}

TEST(Pprof, ThreadsAreLabelsAndKernelFramesHaveAMapping) {
  const std::string text =
      uncompressed(pprof_gzip(measured("t;a;b_[k] 300\n"), "title", "one\ntwo\n"));
  const std::string expected =
      std::string("\x0a\x04\x08\x01\x10\x02", 6) +                   // samples: strings 1 and 2
      std::string("\x1a\x06\x08\x01\x28\x00\x38\x01", 8) +           // mapping 1 without a name
      std::string("\x1a\x06\x08\x02\x28\x03\x38\x01", 8) +           // mapping 2: string 3
      std::string("\x2a\x06\x08\x01\x10\x04\x18\x04", 8) +           // function 1: string 4
      std::string("\x22\x08\x08\x01\x10\x02\x22\x02\x08\x01", 10) +  // location 1, in mapping 2
      std::string("\x2a\x06\x08\x02\x10\x05\x18\x05", 8) +           // function 2: string 5
      std::string("\x22\x08\x08\x02\x10\x01\x22\x02\x08\x02", 10) +  // location 2, in mapping 1
      // sample: locations 1, 2; value 300; label of strings 6 and 7
      std::string("\x12\x0e\x0a\x02\x01\x02\x12\x02\xac\x02\x1a\x04\x08\x06\x10\x07", 16) +
      std::string("\x68\x08\x68\x09\x68\x0a", 6);  // comments
  EXPECT_EQ(text.substr(0, expected.size()), expected);
  std::string strings;
  for (const std::string_view name :
       {"", "samples", "count", "[kernel]", "b", "a", "thread", "t", "title", "one", "two"})
    strings += fmt::format("\x32{}{}", static_cast<char>(name.size()), name);
  EXPECT_EQ(text.substr(expected.size()), strings);
}

TEST(Pprof, RefusesASumThatItCannotHold) {
  EXPECT_NO_THROW(pprof_gzip(measured("t;a 9223372036854775807"), "", ""));
  EXPECT_THROW(pprof_gzip(measured("t;a 9223372036854775807\nt;b 1"), "", ""), Error);
}

TEST(Pprof, CompressesMoreThanOneBuffer) {
  StackTree tree;
  for (int i = 0; i < 20'000; ++i)
    tree.add(std::vector<FoldedFrame>{{"t", FrameKind::thread}, {fmt::format("f{}", i * 7919)}}, 1);
  EXPECT_NE(uncompressed(pprof_gzip(tree, "", "")).find("f158372081"), std::string::npos);
}

}  // namespace
}  // namespace overdue
