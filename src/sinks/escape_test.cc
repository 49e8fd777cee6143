#include "sinks/escape.h"

#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sinks/json_writer.h"

namespace overdue {
namespace {

std::string written(void (*append)(Output&, std::string_view, Backslashes), std::string_view text,
                    Backslashes backslashes = Backslashes::doubled) {
  std::string result;
  Output output(result);
  append(output, text, backslashes);
  output.flush();
  return result;
}

std::string written(void (*append)(Output&, std::string_view), std::string_view text) {
  std::string result;
  Output output(result);
  append(output, text);
  output.flush();
  return result;
}

TEST(JsonString, EscapesWhatJsonAndTerminalsMind) {
  EXPECT_EQ(written(append_json_string, "plain"), "\"plain\"");
  EXPECT_EQ(written(append_json_string, ""), "\"\"");
  EXPECT_EQ(written(append_json_string, std::string_view()), "\"\"");
  EXPECT_EQ(written(append_json_string, "a\"b\\c\nd\te\r"), "\"a\\\"b\\\\c\\nd\\te\\r\"");
  EXPECT_EQ(written(append_json_string, "\x1b[31m\x7f"), "\"\\u001b[31m\\u007f\"");
  EXPECT_EQ(written(append_json_string, "Zürich"), "\"Zürich\"");
  EXPECT_EQ(written(append_json_string, "caf\xe9!"), "\"caf\\\\xe9!\"");
  EXPECT_EQ(written(append_json_string, "\xe2\x80\xae"), "\"\\\\xe2\\\\x80\\\\xae\"");
}

TEST(JsonString, IsValidWhateverTheBytes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 5'000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random() % 2 ? random() : 0x80 + random() % 0x80);
    const std::string json = written(append_json_string, text);
    const auto parsed = nlohmann::json::parse(json, nullptr, false);
    ASSERT_TRUE(parsed.is_string()) << json;
    for (const char c : json)
      ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << json;
  }
}

TEST(Printable, IsTheSameWithAndWithoutAString) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 5'000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random());
    ASSERT_EQ(written(append_printable, text), printable(text));
  }
}

TEST(CsvField, QuotesAsRfc4180AndStaysOnOneLine) {
  EXPECT_EQ(written(append_csv_field, "plain text"), "plain text");
  EXPECT_EQ(written(append_csv_field, "a,b"), "\"a,b\"");
  EXPECT_EQ(written(append_csv_field, "say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(written(append_csv_field, "a\nb"), "a\\nb");
  EXPECT_EQ(written(append_csv_field, "\x1b,\""), "\"\\x1b,\"\"\"");
}

TEST(CsvField, IsNoFormula) {
  EXPECT_EQ(written(append_csv_field, "=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  EXPECT_EQ(written(append_csv_field, "=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
  EXPECT_EQ(written(append_csv_field, "@sum"), "'@sum");
  EXPECT_EQ(written(append_csv_field, "+1+1"), "'+1+1");
  EXPECT_EQ(written(append_csv_field, "-"), "'-");
  EXPECT_EQ(written(append_csv_field, "-11"), "-11");
  EXPECT_EQ(written(append_csv_field, "+0.5"), "+0.5");
  EXPECT_EQ(written(append_csv_field, "a=b"), "a=b");
}

TEST(Backslashes, StayWhereTextIsEscapedAlready) {
  EXPECT_EQ(written(append_printable, "\\x1b\x1b", Backslashes::kept), "\\x1b\\x1b");
  EXPECT_EQ(written(append_csv_field, "\"\\n\n\"", Backslashes::kept), "\"\"\"\\n\\n\"\"\"");
}

std::string sample_document(JsonWriter::Style style) {
  using Elements = JsonWriter::Elements;
  std::string text;
  Output output(text);
  JsonWriter json(output, style);
  json.begin_object(Elements::below);
  json.member("a", 1u);
  json.key("empty");
  json.begin_array(Elements::below);
  json.end_array(Elements::below);
  json.key("rows");
  json.begin_array(Elements::below);
  for (int i = 0; i < 2; ++i) {
    json.begin_object();
    json.member("yes", true);
    json.key("pair");
    json.begin_array();
    json.value(0.5);
    json.null();
    json.end_array();
    json.end_object();
  }
  json.end_array(Elements::below);
  json.end_object(Elements::below);
  output.flush();
  return text;
}

TEST(JsonWriter, SetsCommasAndLines) {
  EXPECT_EQ(
      sample_document(JsonWriter::Style::one_line),
      R"({"a":1,"empty":[],"rows":[{"yes":true,"pair":[0.5,null]},{"yes":true,"pair":[0.5,null]}]})");
  EXPECT_EQ(sample_document(JsonWriter::Style::readable), R"({
  "a": 1,
  "empty": [],
  "rows": [
    {"yes": true, "pair": [0.5, null]},
    {"yes": true, "pair": [0.5, null]}
  ]
})");
}

}  // namespace
}  // namespace overdue
