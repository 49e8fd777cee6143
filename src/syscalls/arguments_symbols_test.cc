#include "syscalls/arguments_symbols.h"

#include <set>

#include <gtest/gtest.h>

#include "syscalls/signatures.h"

namespace overdue {
namespace {

std::set<const Symbols*> all_symbols() {
  std::set<const Symbols*> all = {
      &clone_bits,       &fd_flags,        &internet_protocol, &ip_option,
      &ipc_flags,        &ipv6_option,     &lease_type,        &netlink_option,
      &netlink_protocol, &packet_protocol, &seal_flags,        &signal_name,
      &socket_option,    &tcp_option,      &udp_option,        &futex_command};
  for (std::uint16_t abi = 0; abi < ABI_COUNT; ++abi)
    for (std::uint32_t nr = 0; nr < 1024; ++nr)
      if (const Signature* signature = find_signature(abi, nr))
        for (const Argument& argument : signature->arguments)
          if (argument.values) all.insert(argument.values);
  return all;
}

/// The bits of a value that are not a choice.
std::uint64_t flag_bits(const Symbols& symbols, const Symbol& symbol) {
  return symbol.value & ~symbols.choice_bits;
}

TEST(Symbols, AreUniqueAndFitTheirSets) {
  for (const Symbols* symbols : all_symbols())
    for (std::size_t i = 0; i < symbols->values.size(); ++i) {
      const Symbol& symbol = symbols->values[i];
      EXPECT_FALSE(symbol.name.empty());
      EXPECT_EQ(symbol.value & ~symbols->used_bits, 0u) << symbol.name;
      if ((symbol.value & symbols->choice_bits) != 0) {
        EXPECT_EQ(flag_bits(*symbols, symbol), 0u)
            << symbol.name << " is neither a choice nor bits";
      }
      for (std::size_t before = 0; before < i; ++before)
        EXPECT_NE(symbol.value, symbols->values[before].value)
            << symbol.name << " is " << symbols->values[before].name;
    }
}

TEST(Symbols, OfManyBitsComeBeforeThoseTheyContain) {
  for (const Symbols* symbols : all_symbols())
    for (std::size_t i = 0; i < symbols->values.size(); ++i)
      for (std::size_t later = i + 1; later < symbols->values.size(); ++later) {
        const std::uint64_t bits = flag_bits(*symbols, symbols->values[i]);
        const std::uint64_t more = flag_bits(*symbols, symbols->values[later]);
        if (bits == 0) continue;
        EXPECT_NE(bits & more, bits) << symbols->values[later].name << " never gets its name";
      }
}

}  // namespace
}  // namespace overdue
