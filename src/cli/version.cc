#include "cli/version.h"

#include <fmt/format.h>

#include "cli/build_facts.h"
#include "cli/command.h"
#include "kernel/features.h"
#include "kernel/tested_kernels.h"

namespace overdue {
namespace {

#ifdef OVERDUE_STATIC
constexpr const char* linking = "static";
#else
constexpr const char* linking = "shared libraries";
#endif

#ifdef __SANITIZE_ADDRESS__
constexpr const char* sanitizers = ", AddressSanitizer";
#else
constexpr const char* sanitizers = "";
#endif

}  // namespace

std::string version_text(bool verbose) {
  std::string text = "overdue " OVERDUE_VERSION "\n";
  if (!verbose) return text;
  std::string commands;
  for (const auto& command : all_commands())
    commands += fmt::format("{}{}", commands.empty() ? "" : " ", command->name());
  std::string kernel_parts;
  for (const Facility& facility : facilities())
    kernel_parts += fmt::format("{}{}", kernel_parts.empty() ? "" : " ", facility.name);
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  line("commit", build_commit);
  line("libbpf", build_libbpf);
  line("libdw", build_libdw);
  line("compiler", fmt::format("{}; BPF programs: {}", build_compiler, build_bpf_compiler));
  line("build", fmt::format("{}, {}{}", build_type, linking, sanitizers));
  line("features", build_features);
  line("kernel parts", kernel_parts);
  line("tested on", "Linux " + tested_kernels_text());
  line("commands", commands);
  return text;
}

}  // namespace overdue
