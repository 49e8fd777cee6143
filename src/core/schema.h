#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace overdue {

/// The meaning of a field's number; decides how every sink prints it. Stored in trace files: append
/// only, never renumber.
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
  syscall = 9,     ///< system call number of the ABI in the field beside it
  abi = 10,        ///< enum syscall_abi
  result = 11,     ///< signed return value; -1 … -4095 are errno values
  histogram = 12,  ///< struct latency_histogram
  opaque = 13,     ///< bytes that only the probe reads
};

/// The purpose of a field; decides grouping. Stored in trace files: append only.
enum class Role : std::uint8_t { value = 0, key = 1, duration = 2, stack = 3 };

/// One member of a wire record.
struct Field {
  std::string_view name;  ///< as in JSON: snake_case, with the unit, if any, at the end
  std::uint16_t offset;
  std::uint16_t size;
  Unit unit;
  Role role;
  std::string_view help;  ///< column help, JSON description, metric HELP and tooltip in one
};

class FieldVisitor;
struct Names;
struct Record;

/// The fields of one kind of record. constexpr data: can be listed without a kernel.
struct Schema {
  std::uint16_t id;       ///< enum record_kind
  std::string_view name;  ///< as `"type"` in NDJSON
  std::uint16_t size;  ///< bytes of the fixed part; a record may be longer (a variable tail), and
                       ///< have more fields in files of newer versions
  std::span<const Field> fields;
  std::string_view help;
  /// Turns a record into named, readable values (system call names, decoded arguments). Null: the
  /// fields one by one, as in visit_record().
  void (*visit)(const Record&, const Names&, FieldVisitor&) = nullptr;
};

/// A Field for a member of a wire struct; offset and size come from the struct and cannot drift.
#define OVERDUE_FIELD(type, member, unit, role, help)                             \
  ::overdue::Field {                                                              \
    #member, offsetof(type, member), sizeof(type::member), ::overdue::Unit::unit, \
        ::overdue::Role::role, help                                               \
  }

}  // namespace overdue
