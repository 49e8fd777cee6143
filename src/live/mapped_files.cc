#include "live/mapped_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "live/ready_spans.h"
#include "probes/pairs/user_file.h"
#include "symbols/open_file.h"
#include "symbols/process_maps.h"
#include "target/file_rights.h"
#include "target/identity.h"
#include "target/processes.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_files = 16;  // of one name: each is attached to

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Files by the globs that their names match.
class MappedFiles {
 public:
  explicit MappedFiles(const std::vector<std::string>& globs) {
    for (const std::string& glob : globs) files_[glob];
  }

  void look_at_process(std::uint32_t pid) {
    const auto maps = ProcessMaps::read(static_cast<pid_t>(pid));
    if (!maps) return;
    for (const Mapping& mapping : maps->all()) {
      if (!mapping.is_executable || !mapping.is_file()) continue;
      const std::tuple id(mapping.device_major, mapping.device_minor, mapping.inode);
      if (!mapped_.insert(id).second) continue;
      add(std::string(mapping.path),
          [&] { return open_mapped_file(static_cast<pid_t>(pid), mapping); });
    }
  }

  /// A file that the user could open, if there is one.
  void look_at_file(const fs::path& path) {
    add(path, [&] { return open_regular(path); });
  }

  void look_into(const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      look_at_file(at->path());
  }

  bool has(const std::string& glob) const { return !files_.at(glob).empty(); }
  const std::vector<std::shared_ptr<const UserFile>>& of(const std::string& glob) const {
    return files_.at(glob);
  }
  std::vector<std::string> notes() const {
    if (!is_cut_) return {};
    return {fmt::format(
        "the target has more than {} different files of one name: spans of the others are missing",
        max_files)};
  }

 private:
  template <typename Open>
  void add(const std::string& path, const Open& open) {
    for (auto& [glob, files] : files_) {
      if (!glob_matches(glob, name_of(path))) continue;
      if (files.size() == max_files) {  // a process may have any number of such files
        is_cut_ = true;
        continue;
      }
      auto file = std::make_shared<const UserFile>(UserFile{.file = open(), .path = path});
      struct stat status{};
      if (!file->file || fstat(file->file.get(), &status) != 0) continue;
      if (opened_.insert({glob, status.st_dev, status.st_ino}).second)
        files.push_back(std::move(file));
    }
  }

  std::map<std::string, std::vector<std::shared_ptr<const UserFile>>> files_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> mapped_;  ///< looked at
  std::set<std::tuple<std::string, dev_t, ino_t>> opened_;
  bool is_cut_ = false;
};

/// The file of the program that is about to be started, as a shell finds it.
std::optional<fs::path> program_file(const TargetSelection& selection) {
  if (selection.kind != TargetKind::command) return std::nullopt;
  const std::string& name = selection.argv.at(0);
  std::vector<fs::path> paths = {name};
  if (name.find('/') == name.npos) {
    const char* const path = std::getenv("PATH");
    paths.clear();
    for (const std::string_view folder : split(path ? path : "/usr/bin:/bin", ':'))
      paths.push_back(fs::path(folder) / name);
  }
  for (const fs::path& path : paths) {
    std::error_code error;
    if (fs::path real = fs::canonical(path, error); !error) return real;
  }
  return std::nullopt;
}

void look_in_usual_places(MappedFiles& files, const TargetSelection& selection) {
  const FileRights rights(choose_identity(IdentityRequest::current(std::nullopt)));
  if (const auto program = program_file(selection)) {
    files.look_at_file(*program);
    for (const char* const beside : {"../lib", "../lib/server"})
      files.look_into(program->parent_path() / beside);
  }
  for (const std::string_view folder : library_folders) files.look_into(folder);
}

Error no_file(const PairSpec& pair, const std::vector<std::string>& globs) {
  const ReadySpan* ready = pair.is_ready_made ? find_ready_span(pair.name) : nullptr;
  return Error("cannot measure {}: no process of the target has a file {}", printable(pair.name),
               printable(fmt::format("{}", fmt::join(globs, " or "))))
      .hint(ready ? fmt::format("{} needs {}: the target must be running, or be its program",
                                ready->name, ready->needs)
                  : "the target must be running, or be the program itself; or name the file by its "
                    "path");
}

void replace_events(PairSpec& pair, SideSpec& side, const MappedFiles& files) {
  std::vector<EventSpec> events;
  std::vector<std::string> missing;
  for (const EventSpec& event : side.events) {
    if (!event.is_of_mapped_file()) {
      events.push_back(event);
      continue;
    }
    const std::string glob = event.scope.substr(1);
    if (!files.has(glob) && std::ranges::find(missing, glob) == missing.end())
      missing.push_back(glob);
    for (const auto& file : files.of(glob)) {
      EventSpec found = event;
      found.scope = file->path;
      found.file = file;
      events.push_back(std::move(found));
    }
  }
  if (!missing.empty() && (events.empty() || !pair.is_ready_made)) throw no_file(pair, missing);
  side.events = std::move(events);
}

}  // namespace

std::vector<std::string> find_mapped_files(std::vector<PairSpec>& pairs,
                                           const TargetSelection& selection) {
  std::vector<std::string> globs;
  for (const PairSpec& pair : pairs)
    for (const SideSpec* side : pair.sides())
      for (const EventSpec& event : side->events)
        if (event.is_of_mapped_file()) globs.push_back(event.scope.substr(1));
  if (globs.empty()) return {};
  MappedFiles files(globs);
  for (const std::uint32_t pid : running_processes(selection)) files.look_at_process(pid);
  if (std::ranges::any_of(globs, [&](const std::string& glob) { return !files.has(glob); }))
    look_in_usual_places(files, selection);
  for (PairSpec& pair : pairs) {
    replace_events(pair, pair.begin, files);
    replace_events(pair, pair.end, files);
    for (SideSpec& drop : pair.drops) replace_events(pair, drop, files);
  }
  return files.notes();
}

}  // namespace overdue
