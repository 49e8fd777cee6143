#pragma once

#include <memory>
#include <optional>
#include <string_view>

struct btf;

namespace overdue {

/// What the running kernel's BTF says of its tracepoints: which there are, and with how many
/// arguments. Kernels differ in both.
class TracepointTypes {
 public:
  /// Throws Error where the kernel has no BTF.
  TracepointTypes();
  ~TracepointTypes();

  /// How many arguments a `tp_btf` program gets; nothing where there is no such tracepoint (or a
  /// module has it).
  std::optional<unsigned> arguments(std::string_view tracepoint) const;
  /// Whether the kernel has a function of that name.
  bool has_function(const char* name) const;

 private:
  struct Free {
    void operator()(btf* types) const;
  };
  std::unique_ptr<btf, Free> types_;
};

}  // namespace overdue
