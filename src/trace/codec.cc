#include "trace/codec.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/histogram.h"
#include "trace/field_list.h"
#include "trace/format.h"

namespace overdue {

namespace {

using enum trace_format::InfoTag;
using enum trace_format::TargetTag;
using enum trace_format::SyscallTag;
using enum trace_format::CgroupTag;
using enum trace_format::CallerTag;
using enum trace_format::KernelThreadTag;
using enum trace_format::OptionTag;
using enum trace_format::SchemaTag;
using enum trace_format::FieldTag;

// Room kept free after the names, for a note with the number of names that were left out.
constexpr std::size_t note_room = 256;
constexpr std::size_t max_fields = 1024;
constexpr std::size_t max_values = 65536;  // notes, or words of a command, that a reader keeps

bool has_room(const Bytes& out, std::size_t more) {
  return out.size() + more + note_room <= trace_format::max_payload;
}

void encode_target(FieldListWriter& list, const TargetInfo& target, const Bytes& out) {
  list.text(target_kind, bounded_text(target.kind));
  list.text(target_cpus, bounded_text(target.cpus));
  list.number(target_follows_children, target.follows_children ? 1 : 0);
  for (const std::string& value : target.values)
    if (has_room(out, max_text)) list.text(target_value, bounded_text(value));
  for (const std::uint32_t pid : target.pids)
    if (has_room(out, 64)) list.number(target_pid, pid);
}

// Returns the number of names that did not fit.
std::size_t encode_names(FieldListWriter& list, const Names& names, const Bytes& out) {
  std::size_t left_out = 0;
  for (const auto& entry : names.syscalls) {
    if (!has_room(out, 64 + bounded_text(entry.second).size())) {
      ++left_out;
      continue;
    }
    list.list(info_syscall, [&entry](FieldListWriter& inner) {
      inner.number(syscall_abi_number, entry.first.first);
      inner.number(syscall_number, entry.first.second);
      inner.text(syscall_name, bounded_text(entry.second));
    });
  }
  for (const auto& entry : names.cgroups) {
    if (!has_room(out, 64 + bounded_text(entry.second).size())) {
      ++left_out;
      continue;
    }
    list.list(info_cgroup, [&entry](FieldListWriter& inner) {
      inner.number(cgroup_id, entry.first);
      inner.text(cgroup_path, bounded_text(entry.second));
    });
  }
  for (const auto& [number, name] : names.callers) {
    if (!has_room(out,
                  64 + bounded_text(name.library).size() + bounded_text(name.function).size())) {
      ++left_out;
      continue;
    }
    list.list(info_caller, [&](FieldListWriter& inner) {
      inner.number(caller_number, number);
      inner.text(caller_library, bounded_text(name.library));
      inner.text(caller_function, bounded_text(name.function));
    });
  }
  for (const auto& entry : names.threads) {
    if (!has_room(out, 64 + bounded_text(entry.second).size())) {
      ++left_out;
      continue;
    }
    list.list(info_kernel_thread, [&entry](FieldListWriter& inner) {
      inner.number(kernel_thread_tid, entry.first);
      inner.text(kernel_thread_name, bounded_text(entry.second));
    });
  }
  return left_out;
}

TargetInfo decode_target(std::span<const std::byte> bytes) {
  TargetInfo target;
  target.follows_children = false;
  FieldListReader list(bytes);
  while (const auto field = list.next()) {
    switch (field->tag) {
      case target_kind:
        target.kind = field->text();
        break;
      case target_value:
        if (target.values.size() < max_values) target.values.emplace_back(field->text());
        break;
      case target_pid:
        target.pids.push_back(static_cast<std::uint32_t>(field->number()));
        break;
      case target_follows_children:
        target.follows_children = field->number() != 0;
        break;
      case target_cpus:
        target.cpus = field->text();
        break;
      default:
        break;
    }
  }
  return target;
}

void decode_syscall(std::span<const std::byte> bytes, Names& names) {
  std::pair<std::uint16_t, std::uint32_t> key{};
  std::string_view name;
  FieldListReader list(bytes);
  while (const auto field = list.next()) {
    if (field->tag == syscall_abi_number) key.first = static_cast<std::uint16_t>(field->number());
    if (field->tag == syscall_number) key.second = static_cast<std::uint32_t>(field->number());
    if (field->tag == syscall_name) name = field->text();
  }
  names.syscalls[key] = name;
}

void decode_cgroup(std::span<const std::byte> bytes, Names& names) {
  std::uint64_t id = 0;
  std::string_view path;
  FieldListReader list(bytes);
  while (const auto field = list.next()) {
    if (field->tag == cgroup_id) id = field->number();
    if (field->tag == cgroup_path) path = field->text();
  }
  names.cgroups[id] = path;
}

void decode_caller(std::span<const std::byte> bytes, Names& names) {
  std::uint32_t number = 0;
  CallerName name;
  FieldListReader list(bytes);
  while (const auto field = list.next()) {
    if (field->tag == caller_number) number = static_cast<std::uint32_t>(field->number());
    if (field->tag == caller_library) name.library = field->text();
    if (field->tag == caller_function) name.function = field->text();
  }
  names.callers[number] = std::move(name);
}

void decode_kernel_thread(std::span<const std::byte> bytes, Names& names) {
  std::uint32_t tid = 0;
  std::string_view name;
  FieldListReader list(bytes);
  while (const auto field = list.next()) {
    if (field->tag == kernel_thread_tid) tid = static_cast<std::uint32_t>(field->number());
    if (field->tag == kernel_thread_name) name = field->text();
  }
  names.threads[tid] = name;
}

void decode_option(std::span<const std::byte> bytes, std::map<std::string, std::string>& options) {
  std::string_view name, value;
  FieldListReader list(bytes);
  while (const auto field = list.next()) {
    if (field->tag == option_name) name = field->text();
    if (field->tag == option_value) value = field->text();
  }
  options[std::string(name)] = value;
}

// A unit of a newer version becomes a plain number if its size is that of a number.
Unit known_unit(std::uint64_t unit, std::uint16_t size) {
  const bool numeric = size == 1 || size == 2 || size == 4 || size == 8;
  if (unit > static_cast<std::uint64_t>(Unit::opaque)) return numeric ? Unit::none : Unit::opaque;
  const auto known = static_cast<Unit>(unit);
  if (known == Unit::histogram && size != sizeof(latency_histogram)) return Unit::opaque;
  return known;
}

}  // namespace

Bytes encode_info(const SessionInfo& info) {
  Bytes out;
  FieldListWriter list(out);
  list.text(info_version, bounded_text(info.version));
  list.text(info_command, bounded_text(info.command));
  list.text(info_host, bounded_text(info.host));
  list.text(info_kernel, bounded_text(info.kernel));
  list.text(info_arch, bounded_text(info.arch));
  list.number(info_cpus, info.cpus);
  list.number(info_start_wall_ns,
              static_cast<std::uint64_t>(info.start_wall.time_since_epoch().count()));
  list.number(info_start_ns, info.start.time_since_epoch().count());
  list.number(info_duration_ns, info.duration.count());
  list.text(info_backend, bounded_text(info.backend));
  list.list(info_target, [&](FieldListWriter& inner) { encode_target(inner, info.target, out); });
  for (const std::string& threshold : info.thresholds)
    if (has_room(out, max_text)) list.text(info_threshold, bounded_text(threshold));
  for (const std::string& span : info.spans)
    if (has_room(out, max_text)) list.text(info_span, bounded_text(span));
  for (const std::string& only : info.only)
    if (has_room(out, max_text)) list.text(info_only, bounded_text(only));
  for (const auto& [name, value] : info.options)
    if (has_room(out, 2 * max_text))
      list.list(info_option, [&](FieldListWriter& inner) {
        inner.text(option_name, bounded_text(name));
        inner.text(option_value, bounded_text(value));
      });
  for (const std::string& note : info.notes)
    if (has_room(out, max_text)) list.text(info_note, bounded_text(note));
  if (const std::size_t left_out = encode_names(list, info.names, out); left_out > 0)
    list.text(info_note,
              fmt::format("{} names of control groups, system calls or threads did not fit "
                          "into the recording",
                          left_out));
  return out;
}

Bytes encode_schema(const Schema& schema) {
  Bytes out;
  FieldListWriter list(out);
  list.number(schema_id, schema.id);
  list.text(schema_name, schema.name);
  list.number(schema_size, schema.size);
  list.text(schema_help, schema.help);
  for (const Field& field : schema.fields)
    list.list(schema_field, [&](FieldListWriter& inner) {
      inner.text(field_name, field.name);
      inner.number(field_offset, field.offset);
      inner.number(field_size, field.size);
      inner.number(field_unit, static_cast<std::uint64_t>(field.unit));
      inner.number(field_role, static_cast<std::uint64_t>(field.role));
      inner.text(field_help, field.help);
    });
  return out;
}

SessionInfo decode_info(std::span<const std::byte> payload) {
  SessionInfo info;
  FieldListReader list(payload);
  while (const auto field = list.next()) {
    switch (field->tag) {
      case info_version:
        info.version = field->text();
        break;
      case info_command:
        info.command = field->text();
        break;
      case info_host:
        info.host = field->text();
        break;
      case info_kernel:
        info.kernel = field->text();
        break;
      case info_arch:
        info.arch = field->text();
        break;
      case info_cpus:
        info.cpus = static_cast<std::uint32_t>(field->number());
        break;
      case info_start_wall_ns:
        info.start_wall =
            WallTime(std::chrono::nanoseconds(static_cast<std::int64_t>(field->number())));
        break;
      case info_start_ns:
        info.start = KernelTime(Duration(field->number()));
        break;
      case info_duration_ns:
        info.duration = Duration(field->number());
        break;
      case info_backend:
        info.backend = field->text();
        break;
      case info_note:
        if (info.notes.size() < max_values) info.notes.emplace_back(field->text());
        break;
      case info_threshold:
        if (info.thresholds.size() < max_values) info.thresholds.emplace_back(field->text());
        break;
      case info_span:
        if (info.spans.size() < max_values) info.spans.emplace_back(field->text());
        break;
      case info_only:
        if (info.only.size() < max_values) info.only.emplace_back(field->text());
        break;
      case info_option:
        if (info.options.size() < max_values) decode_option(field->value, info.options);
        break;
      case info_target:
        info.target = decode_target(field->value);
        break;
      case info_syscall:
        decode_syscall(field->value, info.names);
        break;
      case info_cgroup:
        decode_cgroup(field->value, info.names);
        break;
      case info_caller:
        decode_caller(field->value, info.names);
        break;
      case info_kernel_thread:
        decode_kernel_thread(field->value, info.names);
        break;
      default:
        break;
    }
  }
  return info;
}

std::unique_ptr<const OwnedSchema> OwnedSchema::decode(std::span<const std::byte> payload) {
  std::unique_ptr<OwnedSchema> owned(new OwnedSchema(payload));
  Schema& schema = owned->schema_;
  std::uint64_t id = 0;
  std::uint64_t size = 0;
  std::vector<std::span<const std::byte>> fields;
  FieldListReader list(owned->bytes_);
  while (const auto field = list.next()) {
    if (field->tag == schema_id) id = field->number();
    if (field->tag == schema_name) schema.name = field->text();
    if (field->tag == schema_size) size = field->number();
    if (field->tag == schema_help) schema.help = field->text();
    if (field->tag == schema_field && fields.size() < max_fields) fields.push_back(field->value);
  }
  if (id > std::numeric_limits<std::uint16_t>::max()) return nullptr;
  if (size < trace_format::record_header_size || size > trace_format::max_record_size)
    return nullptr;
  schema.id = static_cast<std::uint16_t>(id);
  schema.size = static_cast<std::uint16_t>(size);
  for (const auto& field : fields) owned->add_field(field);
  schema.fields = owned->fields_;
  return owned;
}

void OwnedSchema::add_field(std::span<const std::byte> list) {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t unit = 0;
  std::uint64_t role = 0;
  Field field{};
  FieldListReader reader(list);
  while (const auto item = reader.next()) {
    if (item->tag == field_name) field.name = item->text();
    if (item->tag == field_offset) offset = item->number();
    if (item->tag == field_size) size = item->number();
    if (item->tag == field_unit) unit = item->number();
    if (item->tag == field_role) role = item->number();
    if (item->tag == field_help) field.help = item->text();
  }
  if (field.name.empty() || size == 0 || size > schema_.size || offset > schema_.size - size)
    return;
  field.offset = static_cast<std::uint16_t>(offset);
  field.size = static_cast<std::uint16_t>(size);
  field.unit = known_unit(unit, field.size);
  field.role =
      role <= static_cast<std::uint64_t>(Role::stack) ? static_cast<Role>(role) : Role::value;
  fields_.push_back(field);
}

}  // namespace overdue
