#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "bpf/wire.h"
#include "core/schema.h"

namespace overdue {

/// One record: bytes and their schema. Both are borrowed, and valid during the call that passes the
/// record.
struct Record {
  const Schema* schema;
  std::span<const std::byte> bytes;

  /// The bytes as wire struct `T`; bytes missing in records of older versions are zero.
  template <typename T>
  T as() const {
    T value{};
    if (!bytes.empty())
      std::memcpy(static_cast<void*>(&value), bytes.data(), std::min(sizeof(T), bytes.size()));
    return value;
  }
  event_header header() const { return as<event_header>(); }

  /// One member of a wire struct, by its offset, without copying the rest; zero if the record ends
  /// before it.
  template <typename T>
  T at(std::size_t offset) const {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }
};

/// Takes one record, which is borrowed for the call.
using RecordHandler = std::function<void(const Record&)>;

/// The caller of a system call: the function that the program called, and its library.
struct CallerName {
  std::string library;
  std::string function;
  auto operator<=>(const CallerName&) const = default;
};

/// Names known only on the machine of the measurement; part of a recording.
struct Names {
  /// System calls of the running kernel that are not in our tables: (ABI, number) → name.
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::string> syscalls;
  /// cgroup id → path below the root of its hierarchy.
  std::map<std::uint64_t, std::string> cgroups;
  /// Callers by their numbers in records: see bpf/callers.h.
  std::map<std::uint32_t, CallerName> callers;
  /// tid → name of a thread that says more than its `comm`: see full_names.h.
  std::map<std::uint32_t, std::string> threads = {};
};

/// Takes the fields of a record one by one, in schema order. Implemented by sinks. Views are valid
/// during the call only.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void number(std::string_view name, std::uint64_t value, Unit unit) = 0;
  /// The return value of a call; `error` is the name of the errno value, or empty.
  virtual void result(std::string_view name, std::int64_t value, std::string_view error) = 0;
  /// `value` is raw and may have control bytes. The visitor escapes it as its format needs.
  virtual void text(std::string_view name, std::string_view value) = 0;
  /// `values` are printable: bytes of other processes are escaped already, as by printable().
  virtual void list(std::string_view name, std::span<const std::string_view> values) = 0;
  /// A field that other records of this kind have, but not this one: an empty cell of a table.
  virtual void absent(std::string_view) {}
};

/// Visits the header (time_ns, pid, tid, comm, cpu, cgroup_id if set) and then each field of the
/// schema, or calls the schema's own visit function if it has one.
void visit_record(const Record& record, const Names& names, FieldVisitor& visitor);

/// Visits one field as its unit says; a field that only the probe reads is left out.
void visit_field(const Record& record, const Field& field, FieldVisitor& visitor);

}  // namespace overdue
