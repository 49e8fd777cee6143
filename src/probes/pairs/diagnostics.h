#pragma once

#include <string>
#include <string_view>

#include "probes/pairs/expression.h"
#include "probes/pairs/fields.h"
#include "probes/pairs/types.h"

namespace overdue {

/// Errors about names, with the names that exist instead. Borrows all of its arguments.
class Diagnostics {
 public:
  Diagnostics(std::string_view text, const EventSpec& event, const EventFields& fields,
              const KernelTypes& types)
      : text_(text), event_(event), fields_(fields), types_(types) {}

  Error no_field(std::string_view word, std::size_t at) const;
  Error no_member(const Type& record, std::string_view word, std::size_t at) const;
  /// A struct where a number is needed.
  Error is_record(const Type& record, std::size_t at) const;

 private:
  std::string members_of(const Type& record) const;

  SpanText text_;
  const EventSpec& event_;
  const EventFields& fields_;
  const KernelTypes& types_;
};

}  // namespace overdue
