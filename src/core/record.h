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

/// One record: bytes and what they mean. Both are borrowed; valid during the call that hands it
/// over.
struct Record {
  const Schema* schema;
  std::span<const std::byte> bytes;

  /// The bytes as wire struct `T`; bytes the record does not have (it came from an older version)
  /// are zero.
  template <typename T>
  T as() const {
    T value{};
    if (!bytes.empty())
      std::memcpy(static_cast<void*>(&value), bytes.data(), std::min(sizeof(T), bytes.size()));
    return value;
  }
  event_header header() const { return as<event_header>(); }

  /// One member of a wire struct, by its offset, without copying the rest; zero where the record
  /// ends before it.
  template <typename T>
  T at(std::size_t offset) const {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }
};

/// Takes one record; borrowed for the call.
using RecordHandler = std::function<void(const Record&)>;

/// What caused a system call: a function that the program called, and whose it is.
struct CallerName {
  std::string library;
  std::string function;
  auto operator<=>(const CallerName&) const = default;
};

/// Names that only the machine of the measurement knew; travels with a recording.
struct Names {
  /// System calls the running kernel has beyond our own tables: (ABI, number) → name.
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::string> syscalls;
  /// cgroup id → path below the root of its hierarchy.
  std::map<std::uint64_t, std::string> cgroups;
  /// The callers that records have numbers of: see bpf/callers.h.
  std::map<std::uint32_t, CallerName> callers;
};

/// Takes a record's fields one by one, in schema order. Implemented by sinks; must not keep the
/// views.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void number(std::string_view name, std::uint64_t value, Unit unit) = 0;
  /// What a call returned; `error` is the name of the errno value that is, empty where it is none.
  virtual void result(std::string_view name, std::int64_t value, std::string_view error) = 0;
  /// `value` is raw: control bytes and all. The visitor escapes as its format needs.
  virtual void text(std::string_view name, std::string_view value) = 0;
  /// `values` are ready to read: what quotes other processes' bytes is escaped already, as
  /// printable() does it.
  virtual void list(std::string_view name, std::span<const std::string_view> values) = 0;
  /// A field that records of this kind may have and this one has not: an empty cell of a table.
  virtual void absent(std::string_view) {}
};

/// Visits the header (time_ns, pid, tid, comm, cpu, cgroup_id where set) and then every field of
/// the schema, or calls the schema's own visit function where it has one.
void visit_record(const Record& record, const Names& names, FieldVisitor& visitor);

}  // namespace overdue
