#include "kernel/asked_types.h"

#include <bpf/btf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/fd.h"
#include "kernel/kernel_btf.h"

namespace overdue {
namespace {

constexpr int deepest_type = 64;  // limit of nested types

std::string_view name_of(const btf* types, const btf_type* type) {
  const char* name = btf__name_by_offset(types, type->name_off);
  return name ? name : "";
}

/// The name without the suffix of a CO-RE flavour: "cfs_rq" of "cfs_rq___6_18".
std::string_view essential(std::string_view name) {
  const std::size_t at = name.find("___", 1);
  return at == name.npos ? name : name.substr(0, at);
}

bool can_be_asked_about(const btf_type* type) {
  return type->name_off != 0 && (btf_is_composite(type) || btf_is_any_enum(type) ||
                                 btf_is_typedef(type) || btf_is_int(type));
}

/// The kernel's types by name.
class Index {
 public:
  explicit Index(const btf* kernel) {
    const std::uint32_t count = btf__type_cnt(kernel);
    by_name_.reserve(32'768);
    for (std::uint32_t id = 1; id < count; ++id) {
      const btf_type* type = btf__type_by_id(kernel, id);
      if (can_be_asked_about(type)) by_name_[name_of(kernel, type)].push_back(id);
    }
  }
  const std::vector<std::uint32_t>& named(std::string_view name) const {
    static const std::vector<std::uint32_t> none;
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? none : found->second;
  }

 private:
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_name_;
};

/// Copies of types, each after the types of its members. Pointed-to types are left out: an access
/// through a pointer refers to the struct by name.
class Copy {
 public:
  explicit Copy(const btf* kernel) : kernel_(kernel), copied_(btf__new_empty(), btf__free) {}

  /// The id of the copy; empty if the type cannot be copied.
  std::optional<int> add(std::uint32_t id, int deeper = deepest_type);
  const btf* types() const { return copied_.get(); }

 private:
  std::optional<int> copy(const btf_type* type, int deeper);
  std::optional<int> copy_composite(const btf_type* type, int deeper);
  std::optional<int> copy_enum(const btf_type* type);
  std::optional<int> pointer() {
    if (pointer_ <= 0) pointer_ = btf__add_ptr(copied_.get(), 0);
    return made(pointer_);
  }
  static std::optional<int> made(int id) { return id > 0 ? std::optional(id) : std::nullopt; }
  const char* text(std::uint32_t offset) const { return btf__name_by_offset(kernel_, offset); }

  const btf* kernel_;
  std::unique_ptr<btf, void (*)(btf*)> copied_;
  std::unordered_map<std::uint32_t, int> ids_;
  int pointer_ = 0;
};

std::optional<int> Copy::add(std::uint32_t id, int deeper) {
  const btf_type* type = btf__type_by_id(kernel_, id);
  while (type && btf_is_mod(type)) type = btf__type_by_id(kernel_, id = type->type);
  if (!type || !copied_ || deeper == 0) return std::nullopt;
  if (const auto found = ids_.find(id); found != ids_.end()) return found->second;
  const std::optional<int> copied = copy(type, deeper - 1);
  if (copied) ids_[id] = *copied;
  return copied;
}

std::optional<int> Copy::copy(const btf_type* type, int deeper) {
  btf* to = copied_.get();
  switch (btf_kind(type)) {
    case BTF_KIND_INT:
      return made(btf__add_int(to, text(type->name_off), type->size, btf_int_encoding(type)));
    case BTF_KIND_FLOAT:
      return made(btf__add_float(to, text(type->name_off), type->size));
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
      return copy_enum(type);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      return copy_composite(type, deeper);
    case BTF_KIND_ARRAY: {
      const struct btf_array* array = btf_array(type);
      const auto element = add(array->type, deeper), index = add(array->index_type, deeper);
      if (!element || !index) return std::nullopt;
      return made(btf__add_array(to, *index, *element, array->nelems));
    }
    case BTF_KIND_TYPEDEF: {
      if (type->type == 0) return made(btf__add_typedef(to, text(type->name_off), 0));
      const auto inner = add(type->type, deeper);
      return inner ? made(btf__add_typedef(to, text(type->name_off), *inner)) : std::nullopt;
    }
    case BTF_KIND_PTR:
    case BTF_KIND_FUNC_PROTO:  // of a pointed-to typedef
      return pointer();
    case BTF_KIND_FWD:
      return made(
          btf__add_fwd(to, text(type->name_off), btf_kflag(type) ? BTF_FWD_UNION : BTF_FWD_STRUCT));
    default:
      return std::nullopt;
  }
}

std::optional<int> Copy::copy_enum(const btf_type* type) {
  btf* to = copied_.get();
  const char* name = text(type->name_off);
  if (btf_kind(type) == BTF_KIND_ENUM) {
    const int id = btf__add_enum(to, name, type->size);
    const struct btf_enum* values = btf_enum(type);
    for (unsigned i = 0; id > 0 && i < btf_vlen(type); ++i)
      if (btf__add_enum_value(to, text(values[i].name_off), values[i].val) != 0)
        return std::nullopt;
    return made(id);
  }
  const int id = btf__add_enum64(to, name, type->size, btf_kflag(type));
  const struct btf_enum64* values = btf_enum64(type);
  for (unsigned i = 0; id > 0 && i < btf_vlen(type); ++i)
    if (btf__add_enum64_value(to, text(values[i].name_off), btf_enum64_value(&values[i])) != 0)
      return std::nullopt;
  return made(id);
}

std::optional<int> Copy::copy_composite(const btf_type* type, int deeper) {
  std::vector<int> kinds;  // of the members; copied first, since fields are added to the last type
  const btf_member* members = btf_members(type);
  for (unsigned i = 0; i < btf_vlen(type); ++i) {
    const auto kind = add(members[i].type, deeper);
    if (!kind) return std::nullopt;
    kinds.push_back(*kind);
  }
  btf* to = copied_.get();
  const char* name = text(type->name_off);
  const int id = btf_is_union(type) ? btf__add_union(to, name, type->size)
                                    : btf__add_struct(to, name, type->size);
  for (unsigned i = 0; id > 0 && i < btf_vlen(type); ++i)
    if (btf__add_field(to, text(members[i].name_off), kinds[i], btf_member_bit_offset(type, i),
                       btf_member_bitfield_size(type, i)) != 0)
      return std::nullopt;
  return made(id);
}

/// The path of a file with `types`; empty if the file cannot be made or opened.
std::string file_with(const btf* types, std::vector<Fd>& files) {
  std::uint32_t size = 0;
  const void* bytes = btf__raw_data(types, &size);
  Fd file(memfd_create("types", MFD_CLOEXEC));
  if (!bytes || !file || write(file.get(), bytes, size) != static_cast<ssize_t>(size)) return {};
  std::string path = fmt::format("/proc/self/fd/{}", file.get());
  if (access(path.c_str(), R_OK) != 0) return {};
  files.push_back(std::move(file));
  return path;
}

}  // namespace

std::string asked_types(const void* key, const btf* object) {
  static std::mutex mutex;
  static std::map<const void*, std::string> known;
  static std::vector<Fd> files;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  std::string& path = known[key];
  const auto kernel = kernel_btf();
  if (!kernel || !object) return path;
  static const Index index(kernel.get());
  Copy copy(kernel.get());
  const std::uint32_t count = btf__type_cnt(object);
  for (std::uint32_t id = 1; id < count; ++id) {
    const btf_type* type = btf__type_by_id(object, id);
    if (!can_be_asked_about(type)) continue;
    for (const std::uint32_t theirs : index.named(essential(name_of(object, type))))
      if (!copy.add(theirs)) return path;
  }
  path = file_with(copy.types(), files);
  return path;
}

}  // namespace overdue
