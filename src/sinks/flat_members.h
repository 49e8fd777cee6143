#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/members.h"

namespace overdue {

/// Members as key and value, for formats without nesting: the members of an object have its key
/// before theirs ("irq_max_ns"), lists are left out.
class FlatMembers : public Members {
 protected:
  virtual void put_text(std::string_view key, std::string_view value, const About& about) = 0;
  /// Digits, "true" or "false"; empty: not known.
  virtual void put_value(std::string_view key, std::string_view value) = 0;

 private:
  std::string flat(std::string_view key) const { return prefix_ + std::string(key); }
  void put(std::string_view key, std::string_view value) {
    if (lists_ == 0) put_value(flat(key), value);
  }
  void text(std::string_view key, std::string_view value, const About& about) final {
    if (lists_ == 0) put_text(flat(key), value, about);
  }
  void number(std::string_view key, std::uint64_t value, const About&) final {
    put(key, fmt::format_int(value).str());
  }
  void integer(std::string_view key, std::int64_t value, const About&) final {
    put(key, fmt::format_int(value).str());
  }
  void ratio(std::string_view key, double value, const About&) final {
    put(key, fmt::format("{:.6g}", value));
  }
  void flag(std::string_view key, bool value, const About&) final {
    put(key, value ? "true" : "false");
  }
  void null(std::string_view key, const About&) final { put(key, {}); }
  void bucket(std::string_view, const Bucket&, const About&) final {}
  void begin_object(std::string_view key, const About&) final {
    lengths_.push_back(prefix_.size());
    if (!key.empty()) prefix_ += fmt::format("{}_", key);
  }
  void end_object(const About&) final {
    prefix_.resize(lengths_.back());
    lengths_.pop_back();
  }
  void begin_list(std::string_view, const About&) final { ++lists_; }
  void end_list(const About&) final { --lists_; }
  void begin_map(std::string_view key, const About& about) final { begin_object(key, about); }

  std::string prefix_;  ///< keys of the open objects
  std::vector<std::size_t> lengths_;
  std::size_t lists_ = 0;  ///< open ones
};

}  // namespace overdue
