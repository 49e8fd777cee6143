#include "live/own_settings.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "target/proc.h"

namespace overdue {

OwnSettings::OwnSettings(std::string_view text) {
  for (const std::string_view word : split(text, ':')) {
    const std::size_t equal = word.find('=');
    if (equal != std::string_view::npos && !name_.empty())
      given_[std::string(word.substr(0, equal))] = word.substr(equal + 1);
    else if (name_.empty())
      name_ = word;
    else if (latency_.empty() && !word.empty())
      latency_ = word;
    else
      throw Error("--events {}: '{}' is no setting", printable(text), printable(word))
          .hint(fmt::format("{}:KEY=VALUE", name_))
          .exit_status(2);
  }
}

const std::string* OwnSettings::find(const std::string& key) {
  known_ += fmt::format("{}{}=", known_.empty() ? "" : ", ", key);
  const auto given = given_.find(key);
  if (given == given_.end()) return nullptr;
  ++found_;
  return &given->second;
}

Duration OwnSettings::duration(const std::string& key, Duration otherwise) {
  const std::string* const value = find(key);
  return value ? parse_duration(*value, fmt::format("--events {}:{}", name_, key)) : otherwise;
}

std::uint64_t OwnSettings::number(const std::string& key, std::uint64_t otherwise) {
  const std::string* const value = find(key);
  if (!value) return otherwise;
  const auto number = parse_u32(*value);
  if (!number)
    throw Error("--events {}: {}={} is no number", name_, key, printable(*value))
        .hint(fmt::format("{}:{}={}", name_, key, otherwise))
        .exit_status(2);
  return *number;
}

void OwnSettings::check_all_known() const {
  if (found_ == given_.size()) return;
  for (const auto& [key, value] : given_)
    if (fmt::format(", {}", known_).find(fmt::format(", {}=", key)) == std::string::npos)
      throw Error("--events {}: unknown setting '{}'", name_, printable(key))
          .hint(known_.empty() ? "leave it out" : known_)
          .exit_status(2);
}

}  // namespace overdue
