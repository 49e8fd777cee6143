#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/pairs/spec.h"
#include "probes/pairs/types.h"
#include "probes/pairs/usdt_arguments.h"

namespace overdue {

/// What every event has.
constexpr std::array<std::string_view, 5> builtin_fields{"pid", "tid", "cpu", "comm", "current"};

/// Something of an event that expressions can name.
struct EventField {
  enum class Source {
    context,        ///< `where` bytes into the event's own bytes
    dynamic,        ///< text whose place is said there (__data_loc)
    usdt_argument,  ///< see `argument`
  };
  std::string name;
  Type type = {};
  Source source = Source::context;
  std::uint64_t where = 0;
  UsdtArgument argument = {};
};

/// All fields of an event.
struct EventFields {
  std::vector<EventField> all = {};
  /// Where addresses point to that come without a type, as arguments of user functions do.
  plan_memory memory = PLAN_KERNEL;
  /// Whether numbers may be such addresses.
  bool is_untyped = false;
  std::string missing = {};  ///< why a field one could expect is not there, for messages

  const EventField* find(std::string_view name) const;
};

/// The fields a tracepoint has in the kernel's type information, and a kernel function at its
/// fentry or fexit.
EventFields fields_of(const std::vector<KernelTypes::Parameter>& parameters);
/// Without the result, which a function does not have yet when it begins.
EventFields fields_at_begin(std::vector<KernelTypes::Parameter> parameters);

/// The fields in the text of a tracepoint's `format` file. Pointers are of user space in those of
/// system calls.
EventFields fields_of_format(std::string_view text, plan_memory pointers);

/// The registers that are arguments of a user function, or its result; or the arguments of a USDT
/// probe at one of its sites.
EventFields user_fields(EventSpec::Kind kind, std::vector<UsdtArgument> arguments = {});

/// Whether every name that the side uses is a field of `fields`, a built-in or an enum's constant.
bool has_all_names(const SideSpec& side, const EventFields& fields, const KernelTypes& types);

}  // namespace overdue
