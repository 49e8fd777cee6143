#include "syscalls/signatures.h"

#include <array>
#include <bit>
#include <unordered_map>

#include "syscalls/names_aliases.h"
#include "syscalls/names_table.h"
#include "syscalls/signatures_table.h"

namespace overdue {
namespace {

constexpr std::size_t table_size = 1024;
using SignatureTable = std::array<std::array<const Signature*, table_size>, ABI_COUNT>;
using SignaturesByName = std::unordered_map<std::string_view, const Signature*>;

void add_all(SignaturesByName& by_name, std::span<const Signature> signatures) {
  for (const Signature& each : signatures) by_name[each.name] = &each;
}

const Signature* find_by_name(const SignaturesByName& by_name, std::string_view name) {
  if (const auto found = by_name.find(name); found != by_name.end()) return found->second;
  for (const std::string_view other : other_names(name))  // stat64 has stat's arguments
    if (const auto found = by_name.find(other); found != by_name.end()) return found->second;
  return nullptr;
}

SignatureTable build_table() {
  SignaturesByName native;
  for (const auto& part : {signatures_a_f(), signatures_g_m(), signatures_n_r(), signatures_s_z()})
    add_all(native, part);
  SignaturesByName compat = native;
  add_all(compat, signatures_compat());

  SignatureTable table{};
  for (std::uint16_t abi = 0; abi < ABI_COUNT; ++abi) {
    const auto names = builtin_names(abi);
    for (std::size_t nr = 0; nr < names.size() && nr < table_size; ++nr)
      if (!names[nr].empty())
        table[abi][nr] = find_by_name(abi == ABI_COMPAT ? compat : native, names[nr]);
  }
  return table;
}

}  // namespace

const Signature* find_signature(std::uint16_t abi, std::uint32_t nr) {
  static const SignatureTable table = build_table();
  return abi < ABI_COUNT && nr < table_size ? table[abi][nr] : nullptr;
}

std::uint8_t text_argument_mask(std::uint16_t abi, std::uint32_t nr) {
  const Signature* signature = find_signature(abi, nr);
  if (!signature) return 0;
  std::uint8_t mask = 0;
  for (unsigned i = 0; i < SYSCALL_ARGUMENTS && std::popcount(mask) < SYSCALL_TEXTS; ++i) {
    const ArgumentKind kind = signature->arguments[i].kind;
    if (kind == ArgumentKind::path || kind == ArgumentKind::text)
      mask = static_cast<std::uint8_t>(mask | 1u << i);
  }
  return mask;
}

}  // namespace overdue
