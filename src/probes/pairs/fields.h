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

/// The fields that every event has.
constexpr std::array<std::string_view, 6> builtin_fields{"pid",  "tid",     "cpu",
                                                         "comm", "current", "user_regs"};

/// A field of an event, which expressions can name.
struct EventField {
  enum class Source {
    context,        ///< `where` bytes into the event's own bytes
    dynamic,        ///< text; the word at `where` gives its place (__data_loc)
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
  /// The memory that untyped addresses point into, such as arguments of user functions.
  plan_memory memory = PLAN_KERNEL;
  /// Whether numbers may be such addresses.
  bool is_untyped = false;
  std::string missing = {};  ///< why an expected field is missing, for messages

  const EventField* find(std::string_view name) const;
};

/// The fields of a tracepoint in the kernel's type information, or of a kernel function at its
/// fentry or fexit.
EventFields fields_of(const std::vector<KernelTypes::Parameter>& parameters);
/// The same without the result, which a function does not have yet when it begins.
EventFields fields_at_begin(std::vector<KernelTypes::Parameter> parameters);

/// The fields in the text of a tracepoint's `format` file. `pointers`: the memory that its pointers
/// point into; for system calls this is user memory.
EventFields fields_of_format(std::string_view text, plan_memory pointers);

/// The registers that are the arguments or the result of a user function; or the arguments of a
/// USDT probe at one of its sites.
EventFields user_fields(EventSpec::Kind kind, std::vector<UsdtArgument> arguments = {});

/// Whether every name that the side uses is a field of `fields`, a built-in or an enum's constant.
bool has_all_names(const SideSpec& side, const EventFields& fields, const KernelTypes& types);

}  // namespace overdue
