#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace overdue {

/// What a field's number means; decides how every sink prints it. Values are stored in trace files:
/// append only, never renumber.
enum class Unit : std::uint8_t {
  none = 0,
  count = 1,
  nanoseconds = 2,
  bytes = 3,
  pid = 4,
  tid = 5,
  cpu = 6,
  cgroup = 7,
  text = 8,        ///< NUL-padded char array
  syscall = 9,     ///< system call number, to be read with the ABI beside it
  abi = 10,        ///< enum syscall_abi
  result = 11,     ///< signed return value; -1 … -4095 are errno values
  histogram = 12,  ///< struct latency_histogram
  opaque = 13,     ///< bytes only the probe itself reads
};

/// What a field is for; decides grouping. Stored in trace files: append only.
enum class Role : std::uint8_t { value = 0, key = 1, duration = 2, stack = 3 };

/// One member of a wire record.
struct Field {
  std::string_view name;  ///< as in JSON: snake_case, the unit at its end where it has one
  std::uint16_t offset;
  std::uint16_t size;
  Unit unit;
  Role role;
  std::string_view help;  ///< column help, JSON description, metric HELP and tooltip in one
};

class FieldVisitor;
struct Names;
struct Record;

/// What the bytes of one kind of record mean. constexpr data: it can be listed without a kernel.
struct Schema {
  std::uint16_t id;       ///< enum record_kind
  std::string_view name;  ///< as `"type"` in NDJSON
  std::uint16_t size;  ///< of the fixed part; records may be longer (a variable tail) and, in files
                       ///< from newer versions, have more fields
  std::span<const Field> fields;
  std::string_view help;
  /// Turns a record into named values for people (system call names, decoded arguments). Null: its
  /// fields one by one, as visit_record() does it.
  void (*visit)(const Record&, const Names&, FieldVisitor&) = nullptr;
};

/// A Field for a member of a wire struct; offset and size come from the struct and cannot drift.
#define OVERDUE_FIELD(type, member, unit, role, help)                             \
  ::overdue::Field {                                                              \
    #member, offsetof(type, member), sizeof(type::member), ::overdue::Unit::unit, \
        ::overdue::Role::role, help                                               \
  }

}  // namespace overdue
