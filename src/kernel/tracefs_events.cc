#include "kernel/tracefs_events.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/fd.h"
#include "base/read_text.h"
#include "base/thread_rights.h"
#include "kernel/private_mount.h"

namespace overdue {
namespace {

/// Empty: the text is no number.
std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::filesystem::path tracefs_events(const std::string& category) {
  const ReadRights to_read;  // only root may read tracefs
  const auto folder_in = [&](const std::filesystem::path& tracefs) -> std::filesystem::path {
    std::error_code error;
    std::filesystem::path folder = tracefs / "events" / category;
    return std::filesystem::is_directory(folder, error) ? folder : std::filesystem::path();
  };
  for (const char* usual : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"})
    if (auto folder = folder_in(usual); !folder.empty()) return folder;
  static const Fd mounted = [] {
    const AttachRights to_mount;
    return mount_privately("tracefs");
  }();
  if (!mounted) return {};
  return folder_in(fmt::format("/proc/self/fd/{}", mounted.get()));
}

std::optional<std::uint64_t> tracepoint_id(const std::string& category, const std::string& name) {
  const std::filesystem::path events = tracefs_events(category);
  if (events.empty()) return std::nullopt;
  const ReadRights to_read;
  return number_in(read_word(events / name / "id"));
}

}  // namespace overdue
