#pragma once

#include <string>
#include <vector>

#include "core/members.h"
#include "sinks/json_writer.h"

namespace overdue {

/// Writes the members of a report as JSON.
class JsonMembers final : public Members {
 public:
  explicit JsonMembers(JsonWriter& json) : json_(json) {}

 private:
  void text(std::string_view key, std::string_view value, const About& about) override;
  void number(std::string_view key, std::uint64_t value, const About& about) override;
  void integer(std::string_view key, std::int64_t value, const About& about) override;
  void ratio(std::string_view key, double value, const About& about) override;
  void flag(std::string_view key, bool value, const About& about) override;
  void bucket(std::string_view key, const Bucket& value, const About& about) override;
  void null(std::string_view key, const About& about) override;
  void begin_object(std::string_view key, const About& about) override;
  void end_object(const About& about) override;
  void begin_list(std::string_view key, const About& about) override;
  void end_list(const About& about) override;
  void begin_map(std::string_view key, const About& about) override { begin_object(key, about); }

  /// Elements of a list have no key. The key of a member may be empty: data from a file.
  void write_key(std::string_view key) {
    if (is_list_.empty() || !is_list_.back()) json_.key(key);
  }

  JsonWriter& json_;
  std::vector<bool> is_list_;  ///< of each open container, the innermost last
};

/// A JSON object with the members that `describe_members(member)` gives, for people: with lines.
template <typename F>
std::string json_document(const F& describe_members) {
  std::string text;
  Output output(text);
  JsonWriter json(output, JsonWriter::Style::readable);
  JsonMembers member(json);
  json.begin_object(JsonWriter::Elements::below);
  describe_members(member);
  json.end_object(JsonWriter::Elements::below);
  output.append('\n');
  output.flush();
  return text;
}

}  // namespace overdue
