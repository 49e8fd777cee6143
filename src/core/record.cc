#include "core/record.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "core/histogram.h"

namespace overdue {
namespace {

/// The bytes of a field; fewer than its size in a record of an older version. Fields may come from
/// a file, so their bounds are checked.
std::span<const std::byte> field_bytes(const Record& record, const Field& field) {
  if (field.offset >= record.bytes.size()) return {};
  const auto rest = record.bytes.subspan(field.offset);
  return rest.first(std::min<std::size_t>(field.size, rest.size()));
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  if (!bytes.empty()) std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

std::int64_t sign_extended(std::span<const std::byte> bytes, std::size_t size) {
  if (size == 0) return 0;
  const unsigned unused_bits = size < 8 ? static_cast<unsigned>(8 * (8 - size)) : 0;
  return static_cast<std::int64_t>(little_endian(bytes) << unused_bits) >> unused_bits;
}

void visit_text(const Field& field, std::span<const std::byte> bytes, FieldVisitor& visitor) {
  const std::string_view whole(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  visitor.text(field.name, whole.substr(0, whole.find('\0')));
}

void visit_list(std::string_view name, const std::vector<std::string>& values,
                FieldVisitor& visitor) {
  const std::vector<std::string_view> views(values.begin(), values.end());
  visitor.list(name, views);
}

/// An array of 64-bit numbers, as a list of decimals.
void visit_array(const Field& field, std::span<const std::byte> bytes, FieldVisitor& visitor) {
  std::vector<std::string> values;
  for (std::size_t at = 0; at < field.size; at += sizeof(std::uint64_t))
    values.push_back(fmt::to_string(at < bytes.size() ? little_endian(bytes.subspan(at)) : 0));
  visit_list(field.name, values, visitor);
}

/// The exact figures as numbers, the buckets as a list of "low-high:count" in ns, high not
/// included.
void visit_histogram(const Field& field, std::span<const std::byte> bytes, FieldVisitor& visitor) {
  latency_histogram wire{};
  if (!bytes.empty()) std::memcpy(&wire, bytes.data(), std::min(sizeof wire, bytes.size()));
  visitor.number("count", wire.count, Unit::count);
  visitor.number("total_ns", wire.total_ns, Unit::nanoseconds);
  visitor.number("min_ns", wire.count ? wire.min_ns : 0, Unit::nanoseconds);
  visitor.number("max_ns", wire.max_ns, Unit::nanoseconds);
  std::vector<std::string> buckets;
  for (std::uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; ++bucket) {
    if (wire.buckets[bucket] == 0) continue;
    buckets.push_back(fmt::format("{}-{}:{}", Histogram::bucket_low_ns(bucket),
                                  Histogram::bucket_high_ns(bucket), wire.buckets[bucket]));
  }
  visit_list(field.name, buckets, visitor);
}

}  // namespace

void visit_field(const Record& record, const Field& field, FieldVisitor& visitor) {
  const std::span<const std::byte> bytes = field_bytes(record, field);
  switch (field.unit) {
    case Unit::opaque:
      return;
    case Unit::text:
      return visit_text(field, bytes, visitor);
    case Unit::histogram:
      return visit_histogram(field, bytes, visitor);
    case Unit::result:
      return visitor.result(field.name, sign_extended(bytes, field.size), {});
    default:  // a number; also units of newer versions
      if (field.size > sizeof(std::uint64_t)) return visit_array(field, bytes, visitor);
      return visitor.number(field.name, little_endian(bytes), field.unit);
  }
}

void visit_record(const Record& record, const Names& names, FieldVisitor& visitor) {
  const event_header header = record.header();
  visitor.number("time_ns", header.time_ns, Unit::nanoseconds);
  visitor.number("pid", header.pid, Unit::pid);
  visitor.number("tid", header.tid, Unit::tid);
  visitor.text("comm", fixed_text(header.comm));
  visitor.number("cpu", header.cpu, Unit::cpu);
  if (header.cgroup_id != 0) visitor.number("cgroup_id", header.cgroup_id, Unit::cgroup);
  if (record.schema->visit != nullptr) return record.schema->visit(record, names, visitor);
  for (const Field& field : record.schema->fields) visit_field(record, field, visitor);
}

}  // namespace overdue
