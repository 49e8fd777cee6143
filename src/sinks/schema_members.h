#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/members.h"

namespace overdue {

/// Builds the JSON Schema of what a describe() gives. Types with a name become definitions, each
/// once; objects have no other members than those described.
class SchemaMembers final : public Members {
 public:
  using Json = nlohmann::ordered_json;

  /// Adds definitions to `definitions`, which must outlive the builder.
  explicit SchemaMembers(Json& definitions) : definitions_(definitions) {}

  /// The schema of an object with the members that `describe_members(member)` gives.
  template <typename F>
  Json object_of(const F& describe_members) {
    open_.push_back({empty_object(), {}});
    describe_members(*this);
    Json object = std::move(open_.back().json);
    open_.pop_back();
    return object;
  }

  bool describes_types() const override { return true; }
  void type(std::string_view name, std::string_view help) override;

 private:
  struct Open {
    Json json;
    std::string definition;  ///< name of the type; empty: none
  };
  static Json empty_object();

  void text(std::string_view key, std::string_view value, const About& about) override;
  void number(std::string_view key, std::uint64_t value, const About& about) override;
  void integer(std::string_view key, std::int64_t value, const About& about) override;
  void ratio(std::string_view key, double value, const About& about) override;
  void flag(std::string_view key, bool value, const About& about) override;
  void bucket(std::string_view key, const Bucket& value, const About& about) override;
  void null(std::string_view, const About&) override {}
  void begin_object(std::string_view key, const About& about) override;
  void end_object(const About& about) override;
  void begin_list(std::string_view key, const About& about) override;
  void end_list(const About& about) override;
  void begin_map(std::string_view key, const About& about) override;
  /// Adds a member of the open object, or sets the elements of the open list or map.
  void add(std::string_view key, Json type, const About& about);
  /// Closes what is open, and adds it.
  void close(const About& about);

  Json& definitions_;
  std::vector<Open> open_;
  std::vector<std::string> keys_;  ///< of what is open, without the outermost
};

}  // namespace overdue
