#include "sinks/json_members.h"

namespace overdue {
namespace {

JsonWriter::Elements elements(const About& about) {
  return about.below ? JsonWriter::Elements::below : JsonWriter::Elements::beside;
}

}  // namespace

void JsonMembers::text(std::string_view key, std::string_view value, const About&) {
  write_key(key);
  json_.value(value);
}

void JsonMembers::number(std::string_view key, std::uint64_t value, const About&) {
  write_key(key);
  json_.value(value);
}

void JsonMembers::integer(std::string_view key, std::int64_t value, const About&) {
  write_key(key);
  json_.value(value);
}

void JsonMembers::ratio(std::string_view key, double value, const About&) {
  write_key(key);
  json_.value(value);
}

void JsonMembers::flag(std::string_view key, bool value, const About&) {
  write_key(key);
  json_.value(value);
}

void JsonMembers::bucket(std::string_view key, const Bucket& value, const About&) {
  write_key(key);
  json_.begin_array();
  json_.value(value.low_ns);
  if (value.high_ns)
    json_.value(*value.high_ns);
  else
    json_.null();
  json_.value(value.count);
  json_.end_array();
}

void JsonMembers::null(std::string_view key, const About&) {
  write_key(key);
  json_.null();
}

void JsonMembers::begin_object(std::string_view key, const About& about) {
  write_key(key);
  is_list_.push_back(false);
  json_.begin_object(elements(about));
}

void JsonMembers::end_object(const About& about) {
  json_.end_object(elements(about));
  is_list_.pop_back();
}

void JsonMembers::begin_list(std::string_view key, const About& about) {
  write_key(key);
  is_list_.push_back(true);
  json_.begin_array(elements(about));
}

void JsonMembers::end_list(const About& about) {
  json_.end_array(elements(about));
  is_list_.pop_back();
}

}  // namespace overdue
