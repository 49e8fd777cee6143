#include "syscalls/classes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "syscalls/classes_table.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr int usage_error = 2;

SyscallSet everything() {
  SyscallSet set;
  for (auto& numbers : set) numbers.set();
  return set;
}

bool is_empty(const SyscallSet& set) {
  return std::all_of(set.begin(), set.end(), [](const auto& numbers) { return numbers.none(); });
}

void add(SyscallSet& set, std::uint16_t abi, std::uint32_t nr) {
  if (nr < SYSCALL_TABLE_SIZE) set[abi].set(nr);
}

/// strace's %%stat is three classes at once.
std::vector<std::string_view> class_parts(std::string_view name) {
  if (name == "%stat") return {"stat", "lstat", "fstat"};
  return {name};
}

[[noreturn]] void fail_unknown_class(std::string_view name) {
  std::vector<std::string_view> known;
  for (const SyscallClass& each : syscall_classes()) known.push_back(each.name);
  const std::string_view guess = nearest(name, known);
  throw Error("unknown class of system calls '%{}'", printable(name))
      .hint(guess.empty() ? fmt::format("classes are %{}", fmt::join(known, " %"))
                          : fmt::format("did you mean '%{}'?", guess))
      .exit_status(usage_error);
}

/// `name` is the text after the first `%`; "%stat" stands for three classes.
SyscallSet calls_of_class(std::string_view name) {
  SyscallSet set;
  for (const std::string_view part : class_parts(name)) {
    const auto classes = syscall_classes();
    const auto found = std::find_if(classes.begin(), classes.end(),
                                    [&](const SyscallClass& each) { return each.name == part; });
    if (found == classes.end()) fail_unknown_class(name);
    for (std::uint16_t abi = 0; abi < ABI_COUNT; ++abi)
      for (std::uint32_t nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr) {
        const std::string_view call = builtin_syscall_name(abi, nr);
        if (!call.empty() && std::ranges::find(found->calls, call) != found->calls.end())
          add(set, abi, nr);
      }
  }
  return set;
}

SyscallSet calls_matching(std::string_view glob, const Names& names) {
  SyscallSet set;
  for (std::uint16_t abi = 0; abi < ABI_COUNT; ++abi) {
    const std::string label = syscall_label(abi);
    const auto try_name = [&](std::string_view name, std::uint32_t nr) {
      if (name.empty()) return;
      if (glob_matches(glob, name) ||
          (abi != ABI_NATIVE && glob_matches(glob, label + std::string(name))))
        add(set, abi, nr);
    };
    for (std::uint32_t nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr)
      try_name(builtin_syscall_name(abi, nr), nr);
    for (const auto& [key, name] : names.syscalls)
      if (key.first == abi) try_name(name, key.second);
  }
  if (is_empty(set))
    throw Error("no system call matches '{}'", printable(glob)).exit_status(usage_error);
  return set;
}

std::optional<std::uint32_t> parse_number(std::string_view text) {
  if (text.starts_with("syscall_")) text.remove_prefix(std::string_view("syscall_").size());
  std::uint32_t nr = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), nr);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return nr < SYSCALL_TABLE_SIZE ? std::optional(nr) : std::nullopt;
}

std::optional<std::uint32_t> find_number(std::uint16_t abi, std::string_view name,
                                         const Names& names) {
  if (const auto number = syscall_number(abi, name)) return number;
  for (const auto& [key, known] : names.syscalls)
    if (key.first == abi && known == name) return key.second;
  return std::nullopt;
}

[[noreturn]] void fail_unknown_call(std::string_view name, const Names& names) {
  constexpr std::size_t longest_guessed =
      64;  // longer names are hardly typos; the distance costs its square
  std::vector<std::string_view> known, others;
  if (name.size() <= longest_guessed) others = all_syscall_names();
  for (const auto& [key, each] : names.syscalls) others.push_back(each);
  // nearest() takes the first of equals: swapped letters come before a missing one.
  for (const bool same_length : {true, false})
    for (const std::string_view each : others)
      if ((each.size() == name.size()) == same_length) known.push_back(each);
  const auto classes = syscall_classes();
  const bool is_class = std::any_of(classes.begin(), classes.end(),
                                    [&](const SyscallClass& each) { return each.name == name; });
  const std::string guess = is_class ? fmt::format("%{}", name) : std::string(nearest(name, known));
  throw Error("unknown system call '{}'", printable(name))
      .hint(guess.empty() ? "names are as strace prints them; %file and the like are classes"
                          : fmt::format("did you mean '{}'?", guess))
      .exit_status(usage_error);
}

/// The ABI that a label names, with the label removed from `name`; nothing without a label.
std::optional<std::uint16_t> take_label(std::string_view& name) {
  for (std::uint16_t abi = 1; abi < ABI_COUNT; ++abi) {
    const std::string label = syscall_label(abi);
    if (!name.starts_with(label)) continue;
    name.remove_prefix(label.size());
    return abi;
  }
  return std::nullopt;
}

SyscallSet calls_named(std::string_view item, const Names& names) {
  const bool may_be_missing = item.starts_with('?');
  if (may_be_missing) item.remove_prefix(1);
  std::string_view name = item;
  const auto labelled = take_label(name);
  SyscallSet set;
  if (const auto number = parse_number(name)) {
    add(set, labelled.value_or(ABI_NATIVE), *number);
    return set;
  }
  bool is_known = false;
  for (std::uint16_t abi = 0; abi < ABI_COUNT; ++abi) {
    if (labelled && *labelled != abi) continue;
    const auto number = find_number(abi, name, names);
    if (!number) continue;
    is_known = true;
    add(set, abi, *number);
  }
  if (!is_known && !may_be_missing) fail_unknown_call(name, names);
  if (is_known && is_empty(set))
    throw Error("cannot choose '{}': its number is not below {}", printable(item),
                SYSCALL_TABLE_SIZE)
        .exit_status(usage_error);
  return set;
}

SyscallSet calls_of_item(std::string_view item, const Names& names) {
  if (item == "all") return everything();
  if (item.starts_with('%')) return calls_of_class(item.substr(1));
  const std::string_view pattern = item.starts_with('?') ? item.substr(1) : item;
  if (pattern.find_first_of("*?[") != std::string_view::npos) return calls_matching(item, names);
  return calls_named(item, names);
}

void merge(SyscallSet& into, const SyscallSet& from) {
  for (std::size_t abi = 0; abi < ABI_COUNT; ++abi) into[abi] |= from[abi];
}

}  // namespace

SyscallSet parse_syscall_set(std::span<const std::string> lists, const Names& names) {
  SyscallSet wanted, unwanted;
  bool names_something = false;
  for (std::string_view list : lists) {
    if (list.starts_with("trace=")) list.remove_prefix(std::string_view("trace=").size());
    const bool negated = list.starts_with('!');
    const auto items = split(list, ',');
    if (items.empty() || list == "!")
      throw Error("empty list of system calls")
          .hint("for example -e openat,read or -e %file or -e '!futex'")
          .exit_status(usage_error);
    for (std::string_view item : items) {
      const bool takes_away = negated || item.starts_with('!');
      if (item.starts_with('!')) item.remove_prefix(1);
      if (item.empty()) continue;  // "!,a,b": the mark applies to the whole list
      merge(takes_away ? unwanted : wanted, calls_of_item(item, names));
      names_something |= !takes_away;
    }
  }
  if (!names_something) wanted = everything();
  for (std::size_t abi = 0; abi < ABI_COUNT; ++abi) wanted[abi] &= ~unwanted[abi];
  if (is_empty(wanted))
    throw Error("no system call is left of '{}'",
                printable(fmt::format("{}", fmt::join(lists, ","))))
        .exit_status(usage_error);
  return wanted;
}

bool names_calls(std::span<const std::string> lists) {
  for (std::string_view list : lists) {
    if (list.starts_with("trace=")) list.remove_prefix(std::string_view("trace=").size());
    if (list.starts_with('!')) continue;
    for (const std::string_view item : split(list, ','))
      if (!item.starts_with('!')) return true;
  }
  return false;
}

}  // namespace overdue
