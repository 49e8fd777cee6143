#include "kernel/capabilities.h"

#include <array>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"

namespace overdue {
namespace {

constexpr std::array measuring = {Capability::bpf, Capability::perfmon};

bool in_initial_user_namespace(const std::filesystem::path& proc) {
  // The initial namespace maps all ids onto themselves. No readable map means that the kernel has
  // no user namespaces: this is the initial one.
  const std::string map = read_word(proc / "self/uid_map");
  if (map.empty()) return true;
  const auto words = split(map, ' ');
  return words.size() == 3 && words[0] == "0" && words[1] == "0" && words[2] == "4294967295";
}

std::string in_words(const std::vector<Capability>& capabilities) {
  std::string text;
  for (std::size_t i = 0; i < capabilities.size(); ++i) {
    if (i > 0) text += i + 1 == capabilities.size() ? " and " : ", ";
    text += capability_name(capabilities[i]);
  }
  return text;
}

}  // namespace

std::string_view capability_name(Capability capability) {
  switch (capability) {
    case Capability::dac_read_search:
      return "CAP_DAC_READ_SEARCH";
    case Capability::sys_ptrace:
      return "CAP_SYS_PTRACE";
    case Capability::sys_admin:
      return "CAP_SYS_ADMIN";
    case Capability::syslog:
      return "CAP_SYSLOG";
    case Capability::perfmon:
      return "CAP_PERFMON";
    case Capability::bpf:
      return "CAP_BPF";
  }
  return "an unknown capability";
}

bool CapabilitySet::has(Capability capability) const {
  const auto bit = [this](Capability c) { return (bits_ >> static_cast<unsigned>(c) & 1) != 0; };
  if (bit(capability)) return true;
  const bool split_from_admin = capability == Capability::bpf ||
                                capability == Capability::perfmon ||
                                capability == Capability::syslog;
  return split_from_admin && bit(Capability::sys_admin);
}

CapabilitySet own_capabilities(const std::filesystem::path& proc) {
  const std::string status = read_text(proc / "thread-self/status").value_or("");
  constexpr std::string_view label = "CapPrm:\t";
  const std::size_t found = status.find(label);
  std::uint64_t bits = 0;
  const char* const begin = status.data() + (found == std::string::npos ? 0 : found + label.size());
  if (found == std::string::npos ||
      std::from_chars(begin, status.data() + status.size(), bits, 16).ec != std::errc())
    throw Error("cannot read our own capabilities: no CapPrm in {}",
                (proc / "thread-self/status").string())
        .hint("mount /proc");
  return CapabilitySet(bits, in_initial_user_namespace(proc));
}

std::span<const Capability> measuring_capabilities() {
  return measuring;
}

std::string how_to_get_capabilities(std::string_view command) {
  return fmt::format(
      "run `sudo overdue {}{}…`, or let one group of users measure everybody: `f=$(command -v "
      "overdue); sudo groupadd -f overdue; sudo chgrp overdue \"$f\"; sudo chmod 750 \"$f\"; sudo "
      "setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog=ep \"$f\"`",
      command, command.empty() ? "" : " ");
}

void require_capabilities(std::string_view command, std::span<const Capability> needed,
                          const CapabilitySet& have) {
  std::vector<Capability> missing;
  for (const Capability capability : needed)
    if (!have.has(capability)) missing.push_back(capability);
  if (missing.empty()) return;
  if (!have.initial_namespace())
    throw Error("overdue {} needs {} outside of any user namespace, and this process is inside one",
                command, in_words(missing))
        .hint(
            "run it on the host, or in a container with --privileged and without user namespaces");
  throw Error("overdue {} is missing {}", command, in_words(missing))
      .hint(how_to_get_capabilities(command));
}

}  // namespace overdue
