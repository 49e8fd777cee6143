#include "sinks/schema_members.h"

#include <cstdint>

#include <fmt/format.h>

namespace overdue {
namespace {

using Json = nlohmann::ordered_json;

Json reference(std::string_view definition) {
  return {{"$ref", fmt::format("#/$defs/{}", definition)}};
}

/// The type, or null.
Json or_null_type(Json type) {
  if (type.contains("type") && type["type"].is_string()) {
    type["type"] = {type["type"], "null"};
    return type;
  }
  Json either;
  either["anyOf"] = {std::move(type), {{"type", "null"}}};
  return either;
}

}  // namespace

Json SchemaMembers::empty_object() {
  return {{"type", "object"},
          {"required", Json::array()},
          {"properties", Json::object()},
          {"additionalProperties", false}};
}

void SchemaMembers::type(std::string_view name, std::string_view help) {
  open_.back().definition = name;
  if (!help.empty()) open_.back().json["description"] = help;
}

void SchemaMembers::add(std::string_view key, Json type, const About& about) {
  if (about.is_nullable) type = or_null_type(std::move(type));
  if (!about.help.empty()) type["description"] = about.help;
  Json& parent = open_.back().json;
  if (parent["type"] == "array") {
    parent["items"] = std::move(type);
  } else if (!parent.contains("properties")) {
    parent["additionalProperties"] = std::move(type);
  } else if (Json& property = parent["properties"][std::string(key)]; property.is_null()) {
    if (!about.is_optional) parent["required"].push_back(key);
    property = std::move(type);
  } else {
    property = {{"anyOf", {std::move(property), std::move(type)}}};
  }
}

void SchemaMembers::text(std::string_view key, std::string_view, const About& about) {
  Json type;
  if (about.choices.empty())
    type["type"] = "string";
  else
    type["enum"] = about.choices;
  add(key, std::move(type), about);
}

void SchemaMembers::number(std::string_view key, std::uint64_t, const About& about) {
  if (key == "ns" || key.ends_with("_ns"))
    add(key, reference("ns"), about);
  else
    add(key, reference(about.max > UINT32_MAX ? "count" : "id"), about);
}

void SchemaMembers::integer(std::string_view key, std::int64_t, const About& about) {
  add(key, {{"type", "integer"}}, about);
}

void SchemaMembers::ratio(std::string_view key, double, const About& about) {
  add(key, {{"type", "number"}, {"minimum", 0}}, about);
}

void SchemaMembers::flag(std::string_view key, bool, const About& about) {
  add(key, {{"type", "boolean"}}, about);
}

void SchemaMembers::bucket(std::string_view key, const Bucket&, const About& about) {
  const Json number = {{"type", {"integer", "null"}}, {"minimum", 0}};
  add(key, {{"type", "array"}, {"items", number}, {"minItems", 3}, {"maxItems", 3}}, about);
}

void SchemaMembers::begin_object(std::string_view key, const About&) {
  keys_.emplace_back(key);
  open_.push_back({empty_object(), {}});
}

void SchemaMembers::begin_list(std::string_view key, const About&) {
  keys_.emplace_back(key);
  open_.push_back({{{"type", "array"}}, {}});
}

void SchemaMembers::begin_map(std::string_view key, const About&) {
  keys_.emplace_back(key);
  open_.push_back({{{"type", "object"}}, {}});
}

void SchemaMembers::end_object(const About& about) {
  close(about);
}

void SchemaMembers::end_list(const About& about) {
  close(about);
}

void SchemaMembers::close(const About& about) {
  Open done = std::move(open_.back());
  open_.pop_back();
  const std::string key = std::move(keys_.back());
  keys_.pop_back();
  if (done.definition.empty()) return add(key, std::move(done.json), about);
  definitions_[done.definition] = std::move(done.json);
  add(key, reference(done.definition), about);
}

}  // namespace overdue
