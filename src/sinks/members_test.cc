// One describe() gives JSON, CSV and the JSON Schema of a value.
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/section.h"
#include "sinks/json_members.h"
#include "sinks/json_schema.h"
#include "sinks/make_sink.h"
#include "sinks/schema_members.h"

namespace overdue {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 2> colors{"red", "green"};

struct Leaf {
  std::string color = "red";
  std::int64_t change = 0;
};
void describe(Members& member, const Leaf& leaf) {
  member.type("leaf", "A leaf");
  member("color", leaf.color, {.help = "of the leaf", .choices = colors});
  member("change", leaf.change);
}

struct Tree {
  std::uint32_t tid = 7;
  std::uint64_t age_ns = 9, rings = 3;
  bool green = true;
  double height = 1.5;
  std::optional<std::string> nickname;
  std::optional<std::uint64_t> price;
  std::vector<Leaf> leaves;
  std::map<std::string, std::uint64_t> birds;
  std::vector<Bucket> buckets;
};
void describe(Members& member, const Tree& tree) {
  member("tid", tree.tid);
  member("age_ns", tree.age_ns, {.help = "since the first ring"});
  member("rings", tree.rings);
  member("green", tree.green);
  member("height", tree.height);
  member("nickname", tree.nickname);
  member("price", or_null(tree.price));
  member("first", tree.leaves.empty() ? Leaf{} : tree.leaves[0]);
  member("leaves", tree.leaves);
  member("birds", tree.birds);
  member("buckets", tree.buckets);
}

class TreeSection final : public Section {
 public:
  explicit TreeSection(Tree tree) : tree_(std::move(tree)) {}
  void members(Members& member, const ReportContext&) const override { describe(member, tree_); }
  std::string text(const ReportContext&) const override { return "a tree\n"; }
  void rows(CsvRows& csv, const ReportContext&) const override {
    csv.rows<Tree>(std::span(&tree_, 1),
                   [](Members& cell, const Tree& tree) { describe(cell, tree); });
  }

 private:
  Tree tree_;
};

Tree full() {
  Tree tree;
  tree.nickname = "o,k";
  tree.price = 5;
  tree.leaves = {{"green", -1}};
  tree.birds = {{"owl", 2}};
  tree.buckets = {{0, 10, 4}, {10, std::nullopt, 1}};
  return tree;
}

std::string written(std::string_view format, const Tree& tree) {
  std::string text;
  Output output(text);
  const auto sink = make_sink(format, output, {});
  sink->begin({});
  sink->section(std::make_shared<TreeSection>(tree));
  sink->end({}, {});
  return text;
}

Json schema_of_tree(Json& definitions) {
  return SchemaMembers(definitions).object_of([](Members& member) { describe(member, Tree{}); });
}

TEST(Members, AreJsonInTheirOrder) {
  const Json json = Json::parse(written("json", full()));
  EXPECT_EQ(json["tid"], 7);
  EXPECT_EQ(json["nickname"], "o,k");
  EXPECT_EQ(json["price"], 5);
  EXPECT_EQ(json["leaves"].dump(), R"([{"color":"green","change":-1}])");
  EXPECT_EQ(json["birds"].dump(), R"({"owl":2})");
  EXPECT_EQ(json["buckets"].dump(), "[[0,10,4],[10,null,1]]");
}

TEST(Members, AreMissingIfOptionalAndNullIfUnknown) {
  const Json json = Json::parse(written("json", Tree{}));
  EXPECT_FALSE(json.contains("nickname"));
  EXPECT_TRUE(json["price"].is_null());
  EXPECT_EQ(json["leaves"].dump(), "[]");
}

TEST(Members, MayHaveAnEmptyKeyThatIsData) {
  Tree tree;
  tree.birds = {{"", 1}, {"owl", 2}};
  const Json json = Json::parse(written("json", tree));
  EXPECT_EQ(json["birds"].dump(), R"({"":1,"owl":2})");
}

TEST(Members, AreCellsOfCsvWithoutLists) {
  EXPECT_THAT(written("csv", full()),
              testing::StartsWith("tid,age_ns,rings,green,height,nickname,price,first_color,"
                                  "first_change,birds_owl\n7,9,3,true,1.5,\"o,k\",5,green,-1,2\n"));
}

TEST(Members, HaveASchemaWithEveryOptionalMember) {
  Json definitions;
  const Json schema = schema_of_tree(definitions);
  EXPECT_EQ(
      schema["required"].dump(),
      R"(["tid","age_ns","rings","green","height","price","first","leaves","birds","buckets"])");
  const Json& properties = schema["properties"];
  EXPECT_EQ(properties["tid"].dump(), R"({"$ref":"#/$defs/id"})");
  EXPECT_EQ(properties["age_ns"].dump(),
            R"({"$ref":"#/$defs/ns","description":"since the first ring"})");
  EXPECT_EQ(properties["rings"].dump(), R"({"$ref":"#/$defs/count"})");
  EXPECT_EQ(properties["nickname"].dump(), R"({"type":"string"})");
  EXPECT_EQ(properties["price"].dump(), R"({"anyOf":[{"$ref":"#/$defs/count"},{"type":"null"}]})");
  EXPECT_EQ(properties["leaves"].dump(), R"({"type":"array","items":{"$ref":"#/$defs/leaf"}})");
  EXPECT_EQ(properties["birds"]["additionalProperties"].dump(), R"({"$ref":"#/$defs/count"})");
  EXPECT_EQ(schema["additionalProperties"], false);
}

TEST(Members, OfANamedTypeAreDefinedOnce) {
  Json definitions;
  schema_of_tree(definitions);
  ASSERT_EQ(definitions.size(), 1);
  EXPECT_EQ(definitions["leaf"]["description"], "A leaf");
  EXPECT_EQ(definitions["leaf"]["properties"]["color"].dump(),
            R"({"enum":["red","green"],"description":"of the leaf"})");
}

TEST(Members, GivenTwiceCanHaveEitherType) {
  Json definitions;
  const Json schema = SchemaMembers(definitions).object_of([](Members& member) {
    member("name", std::string());
    member("name", std::uint64_t{});
  });
  EXPECT_EQ(schema["properties"]["name"].dump(),
            R"({"anyOf":[{"type":"string"},{"$ref":"#/$defs/count"}]})");
  EXPECT_EQ(schema["required"].size(), 1);
}

}  // namespace
}  // namespace overdue
