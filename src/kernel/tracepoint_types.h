#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

struct btf;

namespace overdue {

/// Tracepoints, functions and variables in the running kernel's BTF. Kernels differ in which of
/// them exist, and in their arguments.
class TracepointTypes {
 public:
  /// Throws Error if the kernel has no BTF.
  TracepointTypes();

  /// The number of arguments of a `tp_btf` program; empty if there is no such tracepoint, or a
  /// module has it.
  std::optional<unsigned> arguments(std::string_view tracepoint) const;
  /// Whether the kernel has a function of that name.
  bool has_function(const char* name) const;
  /// The BTF id of the function; negative if there is none.
  int function_id(const char* name) const;
  /// Whether the kernel has the function with the prototype that `object` declares: as many
  /// arguments, of the same kinds. libbpf compares in this way.
  bool has_function_like(const btf* object, const char* name) const;
  /// The offset in bytes of a per-CPU variable from the begin of a CPU's variables; empty if there
  /// is none of that name.
  std::optional<std::int64_t> per_cpu_offset(std::string_view name) const;
  /// The offset in bytes of a member of a struct; includes members of unnamed members.
  std::optional<std::int64_t> member_offset(const char* type, std::string_view member) const;

 private:
  std::shared_ptr<btf> types_;
};

}  // namespace overdue
