#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/pairs/plan.h"

struct btf;
struct btf_type;

namespace overdue {

/// The type of a field, as far as reading it needs.
struct Type {
  enum class Kind { number, pointer, record, array, other };
  Kind kind = Kind::number;
  std::uint32_t size = 8;  ///< in bytes; for an array, of the whole array
  bool is_signed = false;
  std::uint32_t id = 0;     ///< in BTF; 0: the type is known without BTF
  std::uint32_t inner = 0;  ///< in BTF: target of a pointer, element of an array; 0: unknown
  bool is_text = false;     ///< an array of char, or a pointer to char
  plan_memory memory = PLAN_KERNEL;  ///< where a pointer points to
};

/// The number that "u8" … "s64" names.
Type number_type(std::string_view word);

/// The types of the running kernel, from its BTF, or the types that a test has made.
class KernelTypes {
 public:
  /// Nothing if the kernel has no BTF.
  static std::optional<KernelTypes> of_kernel();
  explicit KernelTypes(std::shared_ptr<struct btf> types);

  struct Parameter {
    std::string name;  ///< "arg0" if BTF has no names
    Type type;
  };
  /// The arguments that a tracepoint passes to programs; nothing if BTF has no such tracepoint.
  std::optional<std::vector<Parameter>> tracepoint(const std::string& name) const;
  /// The parameters of a kernel function and then its result, called "ret".
  std::optional<std::vector<Parameter>> function(const std::string& name) const;
  std::optional<Type> record(const char* name) const;

  struct Member {
    Type type;
    std::uint32_t bit_offset = 0;
    std::uint32_t bits = 0;  ///< of a bit field, else 0
  };
  /// Also finds members of unnamed structs and unions inside.
  std::optional<Member> member(const Type& record, std::string_view name) const;
  std::vector<std::string> member_names(const Type& record) const;
  /// The target of a pointer, or the element of an array.
  Type inner(const Type& type) const;
  /// The value of an enum's constant.
  std::optional<std::int64_t> constant(std::string_view name) const;
  /// As C writes it: "struct request".
  std::string describe(const Type& type) const;

 private:
  Type type_of(std::uint32_t id) const;
  const struct btf_type* strip(std::uint32_t& id) const;
  std::vector<Parameter> parameters(const struct btf_type& prototype, std::size_t skip) const;
  std::optional<Member> member(std::uint32_t id, std::string_view name, std::uint32_t base,
                               unsigned depth) const;
  void collect_names(std::uint32_t id, unsigned depth, std::vector<std::string>& names) const;

  std::shared_ptr<struct btf> types_;
};

}  // namespace overdue
