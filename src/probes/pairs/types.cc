#include "probes/pairs/types.h"

#include <bpf/btf.h>

#include <fmt/format.h>

#include "base/text.h"
#include "kernel/kernel_btf.h"
#include "kernel/libbpf_log.h"

namespace overdue {
namespace {

constexpr unsigned deepest_type = 16;  // nested unnamed structs, typedefs of typedefs

/// Signed or unsigned: names of directory entries are unsigned.
bool is_char(const btf_type* type) {
  return btf_is_int(type) && type->size == 1 && btf_int_encoding(type) != BTF_INT_BOOL;
}

}  // namespace

Type number_type(std::string_view word) {
  return {.kind = Type::Kind::number,
          .size = word.ends_with("8")    ? 1u
                  : word.ends_with("16") ? 2u
                  : word.ends_with("32") ? 4u
                                         : 8u,
          .is_signed = word.starts_with('s')};
}

KernelTypes::KernelTypes(std::shared_ptr<struct btf> types) : types_(std::move(types)) {}

std::optional<KernelTypes> KernelTypes::of_kernel() {
  const LibbpfLog log;
  auto types = kernel_btf();
  if (!types) return std::nullopt;
  return KernelTypes(std::move(types));
}

const btf_type* KernelTypes::strip(std::uint32_t& id) const {
  const btf_type* type = btf__type_by_id(types_.get(), id);
  for (unsigned depth = 0; type && depth < deepest_type; ++depth) {
    if (!btf_is_mod(type) && !btf_is_typedef(type) && !btf_is_type_tag(type)) return type;
    id = type->type;
    type = btf__type_by_id(types_.get(), id);
  }
  return nullptr;
}

Type KernelTypes::type_of(std::uint32_t id) const {
  Type result{.kind = Type::Kind::other, .size = 0};
  const btf_type* type = strip(id);
  if (!type) return result;
  result.id = id;
  const auto is_text = [&](std::uint32_t inner) {
    const btf_type* of = strip(inner);
    return of && is_char(of);
  };
  if (btf_is_int(type) || btf_is_any_enum(type)) {
    result.kind = Type::Kind::number;
    result.size = type->size;
    result.is_signed =
        btf_is_int(type) ? (btf_int_encoding(type) & BTF_INT_SIGNED) != 0 : btf_kflag(type);
    if (result.size > 8) result.kind = Type::Kind::other;
  } else if (btf_is_ptr(type)) {
    result.kind = Type::Kind::pointer;
    result.size = 8;
    result.inner = type->type;
    result.is_text = is_text(type->type);
  } else if (btf_is_composite(type)) {
    result.kind = Type::Kind::record;
    result.size = type->size;
  } else if (btf_is_array(type)) {
    result.kind = Type::Kind::array;
    result.inner = btf_array(type)->type;
    result.is_text = is_text(result.inner);
    const std::int64_t size = btf__resolve_size(types_.get(), id);
    result.size = size < 0 ? 0 : static_cast<std::uint32_t>(size);
  }
  return result;
}

std::vector<KernelTypes::Parameter> KernelTypes::parameters(const btf_type& prototype,
                                                            std::size_t skip) const {
  std::vector<Parameter> result;
  const btf_param* all = btf_params(&prototype);
  for (std::size_t i = skip; i < btf_vlen(&prototype); ++i) {
    const char* name = btf__name_by_offset(types_.get(), all[i].name_off);
    Parameter parameter{.name = name ? name : "", .type = type_of(all[i].type)};
    if (parameter.name.empty()) parameter.name = fmt::format("arg{}", i - skip);
    result.push_back(std::move(parameter));
  }
  return result;
}

std::optional<std::vector<KernelTypes::Parameter>> KernelTypes::tracepoint(
    const std::string& name) const {
  const auto find = [&](const std::string& what, std::uint32_t kind) {
    return btf__find_by_name_kind(types_.get(), what.c_str(), kind);
  };
  const std::int32_t typedef_id = find("btf_trace_" + name, BTF_KIND_TYPEDEF);
  if (typedef_id < 0) return std::nullopt;
  auto id = static_cast<std::uint32_t>(typedef_id);
  const btf_type* pointer = strip(id);
  if (!pointer || !btf_is_ptr(pointer)) return std::nullopt;
  id = pointer->type;
  const btf_type* prototype = strip(id);
  if (!prototype || !btf_is_func_proto(prototype)) return std::nullopt;
  // That type has no names for its parameters. These functions have the same parameters, with
  // names, after a first one that is private to the kernel.
  for (const char* prefix : {"__probestub_", "__traceiter_", "__bpf_trace_"}) {
    const std::int32_t named = find(prefix + name, BTF_KIND_FUNC);
    if (named < 0) continue;
    const btf_type* function = btf__type_by_id(types_.get(), static_cast<std::uint32_t>(named));
    const btf_type* its = btf__type_by_id(types_.get(), function->type);
    if (its && btf_is_func_proto(its) && btf_vlen(its) == btf_vlen(prototype))
      return parameters(*its, 1);
  }
  return parameters(*prototype, 1);
}

std::optional<std::vector<KernelTypes::Parameter>> KernelTypes::function(
    const std::string& name) const {
  const std::int32_t id = btf__find_by_name_kind(types_.get(), name.c_str(), BTF_KIND_FUNC);
  if (id < 0) return std::nullopt;
  const btf_type* function = btf__type_by_id(types_.get(), static_cast<std::uint32_t>(id));
  const btf_type* prototype = btf__type_by_id(types_.get(), function->type);
  if (!prototype || !btf_is_func_proto(prototype)) return std::nullopt;
  std::vector<Parameter> result = parameters(*prototype, 0);
  result.push_back({"ret", type_of(prototype->type)});
  return result;
}

std::optional<Type> KernelTypes::record(const char* name) const {
  const std::int32_t id = btf__find_by_name_kind(types_.get(), name, BTF_KIND_STRUCT);
  if (id < 0) return std::nullopt;
  return type_of(static_cast<std::uint32_t>(id));
}

std::optional<KernelTypes::Member> KernelTypes::member(std::uint32_t id, std::string_view name,
                                                       std::uint32_t base, unsigned depth) const {
  const btf_type* record = strip(id);
  if (!record || !btf_is_composite(record) || depth > deepest_type) return std::nullopt;
  const btf_member* members = btf_members(record);
  for (std::uint32_t i = 0; i < btf_vlen(record); ++i) {
    const std::string_view own = btf__name_by_offset(types_.get(), members[i].name_off);
    const std::uint32_t offset = base + btf_member_bit_offset(record, i);
    if (own == name)
      return Member{type_of(members[i].type), offset, btf_member_bitfield_size(record, i)};
    if (own.empty())
      if (auto found = member(members[i].type, name, offset, depth + 1)) return found;
  }
  return std::nullopt;
}

std::optional<KernelTypes::Member> KernelTypes::member(const Type& record,
                                                       std::string_view name) const {
  if (name.empty()) return std::nullopt;
  return member(record.id, name, 0, 0);
}

void KernelTypes::collect_names(std::uint32_t id, unsigned depth,
                                std::vector<std::string>& names) const {
  const btf_type* record = strip(id);
  if (!record || !btf_is_composite(record) || depth > deepest_type) return;
  const btf_member* members = btf_members(record);
  for (std::uint32_t i = 0; i < btf_vlen(record); ++i) {
    const char* own = btf__name_by_offset(types_.get(), members[i].name_off);
    if (*own)
      names.emplace_back(own);
    else
      collect_names(members[i].type, depth + 1, names);
  }
}

std::vector<std::string> KernelTypes::member_names(const Type& record) const {
  std::vector<std::string> names;
  collect_names(record.id, 0, names);
  return names;
}

Type KernelTypes::inner(const Type& type) const {
  if (type.inner == 0) return {.kind = Type::Kind::other, .size = 0};
  Type result = type_of(type.inner);
  result.memory = type.memory;
  return result;
}

std::optional<std::int64_t> KernelTypes::constant(std::string_view name) const {
  const std::uint32_t count = btf__type_cnt(types_.get());
  for (std::uint32_t id = 1; id < count; ++id) {
    const btf_type* type = btf__type_by_id(types_.get(), id);
    if (!btf_is_any_enum(type)) continue;
    for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
      const bool wide = btf_is_enum64(type);
      const std::uint32_t at = wide ? btf_enum64(type)[i].name_off : btf_enum(type)[i].name_off;
      if (name != btf__name_by_offset(types_.get(), at)) continue;
      if (wide) return static_cast<std::int64_t>(btf_enum64_value(btf_enum64(type) + i));
      const std::int32_t value = btf_enum(type)[i].val;
      return btf_kflag(type) ? value : static_cast<std::int64_t>(static_cast<std::uint32_t>(value));
    }
  }
  return std::nullopt;
}

std::string KernelTypes::describe(const Type& type) const {
  const auto named = [&](const char* word) {
    const btf_type* of = btf__type_by_id(types_.get(), type.id);
    const char* name = of ? btf__name_by_offset(types_.get(), of->name_off) : nullptr;
    return name && *name ? fmt::format("{} {}", word, printable(name)) : fmt::format("a {}", word);
  };
  switch (type.kind) {
    case Type::Kind::record: {
      const btf_type* of = btf__type_by_id(types_.get(), type.id);
      return named(of && btf_is_union(of) ? "union" : "struct");
    }
    case Type::Kind::pointer:
      if (type.inner == 0) return "a pointer";
      return fmt::format("a pointer to {}", describe(inner(type)));
    case Type::Kind::array:
      return "an array";
    case Type::Kind::number:
      return fmt::format("a number of {} byte{}", type.size, type.size == 1 ? "" : "s");
    case Type::Kind::other:
      return type.size == 0 ? "of no known type" : "no number";
  }
  return {};
}

}  // namespace overdue
