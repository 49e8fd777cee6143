// The signatures against the argument lists in the tracepoint formats of the running kernel.
#include <filesystem>
#include <fstream>
#include <regex>

#include <gtest/gtest.h>

#include "syscalls/names.h"
#include "syscalls/names_table.h"
#include "syscalls/signatures.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

const fs::path events = "/sys/kernel/tracing/events/syscalls";

/// The C types of a call's arguments, from `format`: all fields behind the header and the number,
/// except for those that Linux 7.2 copies from the program's memory in addition.
std::vector<std::string> argument_types(const fs::path& format) {
  static const std::regex field(R"(\s*field:(.*[ *])\w+;\s*offset:(\d+);.*)");
  constexpr unsigned first_argument = 16;
  std::vector<std::string> types;
  std::ifstream lines(format);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, field) || std::stoul(match[2]) < first_argument) continue;
    if (const std::string type = match[1]; !type.starts_with("__data_loc")) types.push_back(type);
  }
  return types;
}

bool is_pointer_kind(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::address:
    case ArgumentKind::path:
    case ArgumentKind::text:
    case ArgumentKind::futex_timeout:
    case ArgumentKind::futex_address2:
    case ArgumentKind::bpf_common_attributes:
      return true;
    default:
      return false;
  }
}

TEST(SyscallFormats, AgreeWithSignatures) {
  std::error_code unreadable;
  if (!fs::is_directory(events, unreadable)) GTEST_SKIP() << "no " << events << " here";
  unsigned compared = 0;
  const auto names = builtin_names(ABI_NATIVE);
  for (std::uint32_t nr = 0; nr < names.size(); ++nr) {
    const auto tracepoint = names[nr].empty() ? std::nullopt : find_tracepoint(events, names[nr]);
    // uprobe and uretprobe take registers the kernel does not declare.
    if (!tracepoint) continue;
    const auto types = argument_types(events / *tracepoint / "format");
    const Signature& signature = *find_signature(ABI_NATIVE, nr);
    const bool is_old_bpf = names[nr] == "bpf" && types.size() == 3;  // two more since Linux 7.0
    EXPECT_EQ(signature.argument_count(), types.size() + (is_old_bpf ? 2 : 0)) << names[nr];
    for (std::size_t i = 0; i < std::min<std::size_t>(types.size(), signature.argument_count());
         ++i) {
      const bool is_pointer =
          types[i].find('*') != std::string::npos || types[i].find("cap_user") != std::string::npos;
      const ArgumentKind kind = signature.arguments[i].kind;
      // A pointer must be read as one; a long may be an address as well (mmap's).
      if (is_pointer) {
        EXPECT_TRUE(is_pointer_kind(kind)) << names[nr] << " argument " << i;
      }
      if (kind == ArgumentKind::path || kind == ArgumentKind::text) {
        EXPECT_NE(types[i].find("char *"), std::string::npos) << names[nr] << " argument " << i;
      }
    }
    ++compared;
  }
  EXPECT_GT(compared, 200u);
}

}  // namespace
}  // namespace overdue
