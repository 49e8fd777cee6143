#include "probes/pairs/user_file.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace overdue {
namespace {

Error wrong(const EventSpec& event, const std::string& why, std::string hint) {
  return std::move(Error("cannot use {}: {}", printable(event.text()), why))
      .hint(std::move(hint))
      .exit_status(2);
}

std::vector<std::string> paths_of(const std::string& scope) {
  if (scope.find('/') != std::string::npos) return {scope};
  std::vector<std::string> paths;
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path ? path : "/usr/bin:/bin", ':'))
    paths.push_back(fmt::format("{}/{}", folder, scope));
  if (scope.find(".so") != std::string::npos)
    for (const std::string_view folder : library_folders)
      paths.push_back(fmt::format("{}/{}", folder, scope));
  return paths;
}

UserFile open_file(const EventSpec& event, const EventFinder& finder) {
  int reason = ENOENT;
  for (const std::string& path : paths_of(event.scope)) {
    UserFile result{.file = finder.open(path), .path = path};
    if (result.file) return result;
    if (errno != ENOENT) reason = errno;
  }
  throw wrong(event,
              fmt::format("{}: {}", printable(event.scope),
                          reason == EINVAL ? "not a regular file" : errno_text(reason)),
              "name the program or the library by its path");
}

/// `find` reads the file.
template <typename Find>
auto found_in(const EventSpec& event, const UserFile& file, const Find& find) {
  try {
    return find();
  } catch (const Error& failure) {
    throw wrong(event, fmt::format("{}: {}", printable(file.path), failure.what()),
                "is the file damaged? --no-sandbox reads it with all rights");
  }
}

std::uint64_t offset_of(const EventSpec& event, const UserFile& file, EventFinder& finder) {
  const FunctionPlaces places =
      found_in(event, file, [&] { return finder.function(file.file, event.name); });
  if (!places.is_elf)
    throw wrong(event, fmt::format("{} is no ELF file", printable(file.path)),
                "of a script name its interpreter");
  if (places.offsets.size() == 1) return places.offsets[0];
  if (places.offsets.size() > 1)
    throw wrong(event,
                fmt::format("{} has {} functions of this name", printable(file.path),
                            places.offsets.size()),
                "a C++ function's mangled name says which of them (nm shows it)");
  if (!places.has_names)
    throw wrong(event,
                fmt::format("{} has no names of functions: it is stripped", printable(file.path)),
                "use a build with symbols; exported functions of libraries keep their names");
  throw wrong(event,
              fmt::format("{} has no function {}", printable(file.path), printable(event.name)),
              places.nearest.empty()
                  ? std::string("nm -C lists what it has")
                  : fmt::format("there is {}; nm -C lists all", printable(places.nearest)));
}

std::vector<EventSite> usdt_sites(const EventSpec& event, const UserFile& file,
                                  EventFinder& finder) {
  UsdtPlaces places =
      found_in(event, file, [&] { return finder.usdt(file.file, event.vendor, event.name); });
  if (!places.sites.empty()) return std::move(places.sites);
  throw wrong(event,
              fmt::format("{} has no USDT probe {}:{}", printable(file.path),
                          printable(event.vendor), printable(event.name)),
              places.others.empty() ? std::string("it has none at all")
                                    : fmt::format("it has {}", printable(places.others)));
}

}  // namespace

std::string UserFile::stable_path() const {
  return fmt::format("/proc/self/fd/{}", file.get());
}

UserPlaces find_user_event(const EventSpec& event, EventFinder& finder) {
  auto file = event.file ? event.file : std::make_shared<const UserFile>(open_file(event, finder));
  std::vector<EventSite> sites;
  if (event.kind == EventSpec::Kind::usdt)
    sites = usdt_sites(event, *file, finder);
  else
    sites.push_back({.offset = offset_of(event, *file, finder)});
  return {std::move(file), std::move(sites)};
}

}  // namespace overdue
