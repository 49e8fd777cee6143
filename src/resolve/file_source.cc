#include "resolve/file_source.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/thread_rights.h"
#include "symbols/elf_symbols.h"
#include "symbols/symbolizer.h"
#include "symbols/vdso.h"

namespace overdue {
namespace {

constexpr std::string_view elf_magic = "\177ELF";

bool is_elf(const Fd& file) {
  std::array<char, elf_magic.size()> front{};
  return pread(file.get(), front.data(), front.size(), 0) == std::ssize(front) &&
         std::string_view(front.data(), front.size()) == elf_magic;
}

/// The build id in the path of a debug file; nothing for other paths.
std::optional<std::string> build_id_of(std::string_view path) {
  constexpr std::string_view folder = "/usr/lib/debug/.build-id/", ending = ".debug";
  if (!path.starts_with(folder) || !path.ends_with(ending)) return std::nullopt;
  path.remove_prefix(folder.size());
  path.remove_suffix(ending.size());
  if (path.size() < 4 || path.size() > 129 || path[2] != '/') return std::nullopt;
  std::string id(path);
  id.erase(2, 1);
  if (!is_build_id(id)) return std::nullopt;
  return id;
}

}  // namespace

Fd OpenedFiles::mapped_file(const Mapping& mapping) {
  return image_ ? images_.open(*image_, mapping, pid_) : Fd();
}

Fd OpenedFiles::debug_file(const std::string& path) {
  if (!image_ || !may_be_debug_file(path)) return {};
  Fd file = open_debug_file(pid_, path);
  if (file && is_elf(file)) return file;
  const auto build_id = fetch_ ? build_id_of(path) : std::nullopt;
  return build_id ? fetch_(*build_id) : Fd();
}

// The path of the debug file comes from the mapped file, so from that file's owner.
bool OpenedFiles::may_be_debug_file(const std::string& path) const {
  if (path.find('\0') != std::string::npos || path.find("/../") != std::string::npos ||
      path.ends_with("/.."))
    return false;
  if (path.starts_with("/usr/lib/debug/")) return true;
  std::string_view folder = std::string_view(path).substr(0, path.rfind('/') + 1);
  if (constexpr std::string_view below = "/.debug/"; folder.ends_with(below))
    folder.remove_suffix(below.size() - 1);
  return !folder.empty() && std::ranges::any_of(image_->entries(), [&](const auto& entry) {
    const std::string_view mapped = entry.mapping.path;
    return mapped.substr(0, mapped.rfind('/') + 1) == folder;
  });
}

std::vector<std::byte> OpenedFiles::vdso(const Mapping& mapping) {
  return read_vdso(pid_, mapping);
}

Fd OpenedFiles::memory() {
  const ReadRights rights;
  return Fd(open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDONLY | O_CLOEXEC));
}

PerfMap::File OpenedFiles::perf_map() {
  PerfMap::File file = images_.perf_map(pid_);
  if (!file.fd && image_ && image_->pid() != pid_) return images_.perf_map(image_->pid());
  return file;
}

}  // namespace overdue
