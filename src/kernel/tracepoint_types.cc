#include "kernel/tracepoint_types.h"

#include <bpf/btf.h>

#include <cerrno>
#include <string>

#include "base/error.h"

namespace overdue {

void TracepointTypes::Free::operator()(btf* types) const {
  btf__free(types);
}

TracepointTypes::TracepointTypes() : types_(btf__load_vmlinux_btf()) {
  if (!types_)
    throw Error("cannot read the kernel's BTF: {}", errno_text(errno))
        .hint("boot a kernel with CONFIG_DEBUG_INFO_BTF=y; `overdue doctor` says what works here");
}

TracepointTypes::~TracepointTypes() = default;

std::optional<unsigned> TracepointTypes::arguments(std::string_view tracepoint) const {
  // typedef void (*btf_trace_NAME)(void *, …): a type of the probe functions, the first argument
  // is theirs.
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
  return btf__find_by_name_kind(types_.get(), name, BTF_KIND_FUNC) >= 0;
}

}  // namespace overdue
