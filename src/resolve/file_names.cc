#include "resolve/file_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <optional>

#include "symbols/elf_symbols.h"
#include "symbols/open_file.h"

namespace overdue {
namespace {

constexpr pid_t no_process = 1 << 30;  // beyond any process id
constexpr std::uint64_t first_start = 1u << 20, page = 4096;
constexpr std::size_t max_files = 1024;

Fd duplicate(const Fd& file) {
  return Fd(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
}

SandboxedResolver::SandboxOptions sandbox_options(bool lines, const FetchDebugFile& fetch) {
  auto options =
      lines ? SandboxedResolver::SandboxOptions::with_lines() : SandboxedResolver::SandboxOptions{};
  options.fetch_debug_file = fetch;
  return options;
}

}  // namespace

FileNames::FileNames(Options options)
    : options_(std::move(options)),
      images_({.read_maps = [](pid_t) { return std::optional<ProcessMaps>(); },
               .open_mapped =
                   [this](pid_t, const Mapping& mapping) {
                     const auto file = files_.find(mapping.start);
                     return file != files_.end() ? duplicate(file->second) : Fd();
                   },
               // Times here are ordinals, not clock times; build ids identify the files.
               .born = [](const Fd&) { return std::optional<KernelTime>(); },
               .now = {}}),
      resolver_(images_, {}, sandbox_options(options_.lines, options_.fetch)),
      next_start_(first_start) {
  images_.handle(
      {.kind = ProcessEvent::Kind::exec, .time = ++now_, .pid = no_process, .tid = no_process});
}

FileNames::Mapped FileNames::mapped(const std::string& path, Fd file) {
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || status.st_size <= 0) return {};
  const Mapped made{.start = next_start_, .size = static_cast<std::uint64_t>(status.st_size)};
  next_start_ += (made.size / page + 2) * page;
  images_.handle({.kind = ProcessEvent::Kind::mapping,
                  .time = ++now_,
                  .pid = no_process,
                  .tid = no_process,
                  .is_executable = true,
                  .start = made.start,
                  .end = made.start + made.size,
                  .device_major = major(status.st_dev),
                  .device_minor = minor(status.st_dev),
                  .inode = status.st_ino,
                  .text = path});
  files_.emplace(made.start, std::move(file));
  return made;
}

// If a path of the recording leads out of the directory, only the name of the file counts.
std::vector<std::string> FileNames::paths_of(const std::string& module) const {
  std::vector<std::string> paths;
  if (const std::string& directory = options_.directory; !directory.empty()) {
    if (module.starts_with('/') && module.find("/..") == module.npos)
      paths.push_back(directory + module);
    paths.push_back(directory + "/" + module.substr(module.rfind('/') + 1));
  }
  paths.push_back(module);
  return paths;
}

const std::vector<FileNames::Mapped>& FileNames::candidates(const StackFrame& frame) {
  const auto [found, is_new] = candidates_.try_emplace({frame.module, frame.build_id});
  if (!is_new) return found->second;
  const auto add = [&](const std::string& path, Fd file) {
    if (const Mapped made = mapped(path, std::move(file)); made.size > 0)
      found->second.push_back(made);
  };
  for (const std::string& path : paths_of(frame.module)) add(path, open_regular(path));
  for (const std::string& path : debug_file_paths_by_id(frame.build_id)) {
    if (!options_.directory.empty()) {
      const std::string below = options_.directory + path;
      add(below, open_regular(below));
    }
    Fd file = open_regular(path);
    if (!file && options_.fetch && found->second.empty()) file = options_.fetch(frame.build_id);
    add(path, std::move(file));
  }
  return found->second;
}

// Each frame is resolved by itself, at the call instruction: the frame has the return address.
Stack FileNames::resolved(const Mapped& file, const StackFrame& frame) {
  if (frame.offset == 0 || frame.offset > file.size) return {};
  const std::uint64_t call = file.start + frame.offset - 1;
  Stack stack = resolver_.raw_user_stack(no_process, std::span(&call, 1)).frames;
  if (stack.empty() || stack.back().build_id != frame.build_id || stack.back().name.empty())
    return {};
  ++stack.back().offset;
  for (StackFrame& one : stack) {
    one.address = frame.address;
    one.module = frame.module;
  }
  stack.back().is_signal = frame.is_signal;
  stack.back().is_guessed = frame.is_guessed;
  stack.front().follows_gap = frame.follows_gap;
  return stack;
}

Stack FileNames::named(StackFrame frame) {
  if (is_build_id(frame.build_id) && candidates_.size() < max_files)
    for (const Mapped& file : candidates(frame))
      if (Stack stack = resolved(file, frame); !stack.empty()) return stack;
  return {std::move(frame)};
}

}  // namespace overdue
