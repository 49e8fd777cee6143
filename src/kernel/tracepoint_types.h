#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

struct btf;

namespace overdue {

/// What the running kernel's BTF says of its tracepoints, functions and variables. Kernels differ
/// in which there are, and with which arguments.
class TracepointTypes {
 public:
  /// Throws Error where the kernel has no BTF.
  TracepointTypes();

  /// How many arguments a `tp_btf` program gets; nothing where there is no such tracepoint (or a
  /// module has it).
  std::optional<unsigned> arguments(std::string_view tracepoint) const;
  /// Whether the kernel has a function of that name.
  bool has_function(const char* name) const;
  /// Its BTF id; negative where there is none.
  int function_id(const char* name) const;
  /// Whether it has one that can be called as `object` declares it: as many arguments, of the same
  /// kinds. libbpf compares in this way.
  bool has_function_like(const btf* object, const char* name) const;
  /// Where a variable of which each CPU has its own is, from where those of a CPU begin; nothing
  /// where there is none of that name.
  std::optional<std::int64_t> per_cpu_offset(std::string_view name) const;
  /// Where a member of a struct is, in bytes; also one of a member of its without a name.
  std::optional<std::int64_t> member_offset(const char* type, std::string_view member) const;

 private:
  std::shared_ptr<btf> types_;
};

}  // namespace overdue
