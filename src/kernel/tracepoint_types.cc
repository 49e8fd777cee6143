#include "kernel/tracepoint_types.h"

#include <bpf/btf.h>

#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/error.h"
#include "kernel/kernel_btf.h"

namespace overdue {
namespace {

constexpr int deepest_member = 32;  // libbpf's own limit

/// Skips names and qualifiers of a type.
const btf_type* plain_type(const btf* types, std::uint32_t id) {
  const btf_type* type = btf__type_by_id(types, id);
  while (type && (btf_is_mod(type) || btf_is_typedef(type)))
    type = btf__type_by_id(types, type->type);
  return type;
}

bool are_alike(const btf* ours, std::uint32_t our_id, const btf* theirs, std::uint32_t their_id,
               int deeper = deepest_member) {
  const btf_type* one = plain_type(ours, our_id);
  const btf_type* other = plain_type(theirs, their_id);
  if (!one || !other || deeper == 0) return false;
  if (btf_is_any_enum(one) && btf_is_any_enum(other)) return true;
  if (btf_kind(one) != btf_kind(other)) return false;
  if (btf_is_ptr(one)) return are_alike(ours, one->type, theirs, other->type, deeper - 1);
  if (!btf_is_func_proto(one)) return true;
  if (btf_vlen(one) != btf_vlen(other)) return false;
  for (unsigned i = 0; i < btf_vlen(one); ++i)
    if (!are_alike(ours, btf_params(one)[i].type, theirs, btf_params(other)[i].type, deeper - 1))
      return false;
  return are_alike(ours, one->type, theirs, other->type, deeper - 1);
}

}  // namespace

TracepointTypes::TracepointTypes() : types_(kernel_btf()) {
  if (!types_)
    throw Error("cannot read the kernel's BTF: {}", errno_text(errno))
        .hint("boot a kernel with CONFIG_DEBUG_INFO_BTF=y; `overdue doctor` says what works here");
}

std::optional<unsigned> TracepointTypes::arguments(std::string_view tracepoint) const {
  // typedef void (*btf_trace_NAME)(void *, …): the type of the probe functions. Their first
  // argument is not the tracepoint's.
  const std::string name = "btf_trace_" + std::string(tracepoint);
  const int id = btf__find_by_name_kind(types_.get(), name.c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return std::nullopt;
  const btf_type* type = btf__type_by_id(types_.get(), static_cast<unsigned>(id));
  while (type && (btf_is_typedef(type) || btf_is_ptr(type)))
    type = btf__type_by_id(types_.get(), type->type);
  if (!type || !btf_is_func_proto(type) || btf_vlen(type) == 0) return std::nullopt;
  return btf_vlen(type) - 1u;
}

bool TracepointTypes::has_function(const char* name) const {
  return function_id(name) >= 0;
}

// Cached: libbpf searches all names, and the objects of a session ask for the same few.
int TracepointTypes::function_id(const char* name) const {
  static std::mutex mutex;
  static std::map<std::string, int, std::less<>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  const int id = btf__find_by_name_kind(types_.get(), name, BTF_KIND_FUNC);
  known.emplace(name, id);
  return id;
}

bool TracepointTypes::has_function_like(const btf* object, const char* name) const {
  const int ours = btf__find_by_name_kind(object, name, BTF_KIND_FUNC);
  const int theirs = function_id(name);
  if (ours < 0 || theirs < 0) return false;
  return are_alike(object, btf__type_by_id(object, static_cast<unsigned>(ours))->type, types_.get(),
                   btf__type_by_id(types_.get(), static_cast<unsigned>(theirs))->type);
}

std::optional<std::int64_t> TracepointTypes::per_cpu_offset(std::string_view name) const {
  const int id = btf__find_by_name_kind(types_.get(), ".data..percpu", BTF_KIND_DATASEC);
  if (id < 0) return std::nullopt;
  const btf_type* section = btf__type_by_id(types_.get(), static_cast<unsigned>(id));
  const btf_var_secinfo* variables = btf_var_secinfos(section);
  for (unsigned i = 0; i < btf_vlen(section); ++i) {
    const btf_type* variable = btf__type_by_id(types_.get(), variables[i].type);
    if (variable && name == btf__name_by_offset(types_.get(), variable->name_off))
      return variables[i].offset;
  }
  return std::nullopt;
}

std::optional<std::int64_t> TracepointTypes::member_offset(const char* type,
                                                           std::string_view member) const {
  const int id = btf__find_by_name_kind(types_.get(), type, BTF_KIND_STRUCT);
  if (id < 0) return std::nullopt;
  const auto look = [&](auto& self, const btf_type* in,
                        unsigned deeper) -> std::optional<std::int64_t> {
    for (unsigned i = 0; i < btf_vlen(in); ++i) {
      const btf_member& one = btf_members(in)[i];
      const std::string_view name = btf__name_by_offset(types_.get(), one.name_off);
      const std::int64_t offset = btf_member_bit_offset(in, i) / 8;
      if (name == member) return offset;
      const btf_type* of = btf__type_by_id(types_.get(), one.type);
      if (!name.empty() || !of || !btf_is_composite(of) || deeper == 0) continue;
      if (const auto inside = self(self, of, deeper - 1)) return offset + *inside;
    }
    return std::nullopt;
  };
  return look(look, btf__type_by_id(types_.get(), static_cast<unsigned>(id)), 3);
}

}  // namespace overdue
