#include "probes/pairs/diagnostics.h"

#include <fmt/ranges.h>

#include <vector>

#include "base/text.h"

namespace overdue {
namespace {

std::string or_rather(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view near = nearest(word, names);
  return near.empty() ? "" : fmt::format("; `{}`?", near);
}

}  // namespace

Error Diagnostics::no_field(std::string_view word, std::size_t at) const {
  std::vector<std::string_view> names(builtin_fields.begin(), builtin_fields.end());
  for (const EventField& field : fields_.all) names.push_back(field.name);
  std::string hint = fmt::format("it has {}", fmt::join(names, ", "));
  if (!fields_.missing.empty()) hint += "; " + fields_.missing;
  return text_.error(at,
                     fmt::format("{} has no field `{}`{}", printable(event_.text()),
                                 printable(word), or_rather(word, names)),
                     printable(hint));
}

std::string Diagnostics::members_of(const Type& record) const {
  constexpr std::size_t most = 40;
  std::vector<std::string> names = types_.member_names(record);
  const bool cut = names.size() > most;
  if (cut) names.resize(most);
  return fmt::format("{} has {}{}", types_.describe(record), fmt::join(names, ", "),
                     cut ? ", …" : "");
}

Error Diagnostics::no_member(const Type& record, std::string_view word, std::size_t at) const {
  const std::vector<std::string> names = types_.member_names(record);
  if (names.empty())
    return text_.error(
        at, fmt::format("the kernel's types do not say what is in {}", types_.describe(record)));
  const std::vector<std::string_view> views(names.begin(), names.end());
  return text_.error(at,
                     fmt::format("{} has no member `{}`{}", types_.describe(record),
                                 printable(word), or_rather(word, views)),
                     members_of(record));
}

Error Diagnostics::is_record(const Type& record, std::size_t at) const {
  return text_.error(
      at, fmt::format("this is {}, not a number: name a member of it", types_.describe(record)),
      members_of(record));
}

}  // namespace overdue
