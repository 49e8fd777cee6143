#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/members.h"
#include "core/session_info.h"

namespace overdue {

/// A member of a report and what it is made of, to be laid out on a page. Texts are hostile.
struct HtmlValue {
  enum class Kind { text, number, share, flag, null, bucket, object, list, map, frame, finding };

  Kind kind = Kind::object;
  std::string key = {};  ///< data if the value is in a map
  std::string help = {};
  std::string title = {};
  Look look = Look::plain;
  std::string part_of = {};
  std::string text = {};  ///< of a text, a frame and a finding, whose lines end in newlines
  double number = 0;      ///< of numbers and shares; lower bound of a bucket
  double high = 0;        ///< upper bound of a bucket; 0: none
  std::uint64_t count = 0;
  std::vector<HtmlValue> children = {};

  bool has_children() const {
    return kind == Kind::object || kind == Kind::list || kind == Kind::map;
  }
};

/// Keeps the members of a report as a tree.
class HtmlMembers final : public Members {
 public:
  /// `info` must outlive this object.
  explicit HtmlMembers(const SessionInfo& info) : info_(info), open_{&root_} {}

  /// An object with the members until now.
  const HtmlValue& root() const { return root_; }

  bool takes(const Finding& finding) override;
  bool takes(const StackFrame& frame) override;

 private:
  void text(std::string_view key, std::string_view value, const About& about) override;
  void number(std::string_view key, std::uint64_t value, const About& about) override;
  void integer(std::string_view key, std::int64_t value, const About& about) override;
  void ratio(std::string_view key, double value, const About& about) override;
  void flag(std::string_view key, bool value, const About& about) override;
  void bucket(std::string_view key, const Bucket& value, const About& about) override;
  void null(std::string_view key, const About& about) override;
  void begin_object(std::string_view key, const About& about) override;
  void end_object(const About&) override { open_.pop_back(); }
  void begin_list(std::string_view key, const About& about) override;
  void end_list(const About&) override { open_.pop_back(); }
  void begin_map(std::string_view key, const About& about) override;

  HtmlValue& add(HtmlValue::Kind kind, std::string_view key, const About& about);
  void open(HtmlValue::Kind kind, std::string_view key, const About& about) {
    open_.push_back(&add(kind, key, about));
  }

  const SessionInfo& info_;
  HtmlValue root_;
  /// The values that get members, outermost first. A value is complete before its parent gets the
  /// next one, so that the pointers stay valid.
  std::vector<HtmlValue*> open_;
};

}  // namespace overdue
