#include "symbols/debug_file.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "symbols/lines.h"
#include "symbols/test_support.h"

namespace overdue {
namespace {

using symbols_test::fixtures;
using symbols_test::functions_of;

struct Case {
  std::string file;                          ///< file whose debug information is wanted
  std::map<std::string, std::string> there;  ///< path → fixture
};

std::optional<DebugInfo> found(const Case& wanted, const ElfLimits& limits = {}) {
  const OpenFile open = [&](const std::string& path) {
    const auto file = wanted.there.find(path);
    return file != wanted.there.end() ? open_regular(fixtures + "/" + file->second) : Fd();
  };
  return find_debug_info(open_regular(fixtures + "/" + wanted.file), open, "/opt/bin/x", limits);
}

bool has_lines(std::optional<DebugInfo> info) {
  if (!info) return false;
  SourceLines lines(std::move(info->file));
  for (const auto& [address, listed] : functions_of(fixtures + "/lines", ""))
    if (listed.name == "main") return !lines.find(address - info->bias).empty();
  return false;
}

std::string path_by_id() {
  const FileBytes bytes(open_regular(fixtures + "/separate_lines/stripped"));
  const auto image = ElfImage::read(bytes);
  const auto paths = debug_file_paths_by_id(image ? image->build_id() : "");
  return paths.empty() ? "" : paths[0];
}

TEST(DebugInfo, IsInTheFileItselfOrApart) {
  EXPECT_TRUE(has_lines(found({"lines", {}})));
  EXPECT_FALSE(found({"separate_lines/stripped", {}}));
  EXPECT_TRUE(has_lines(
      found({"separate_lines/stripped", {{path_by_id(), "separate_lines/linked.debug"}}})));
  for (const char* folder : {"/opt/bin/", "/opt/bin/.debug/", "/usr/lib/debug/opt/bin/"})
    EXPECT_TRUE(
        has_lines(found({"separate_lines/linked",
                         {{std::string(folder) + "linked.debug", "separate_lines/linked.debug"}}})))
        << folder;
}

TEST(DebugInfo, IsNotThatOfAnother) {
  EXPECT_FALSE(found({"separate_lines/stripped", {{path_by_id(), "lines_packed"}}}));
  EXPECT_FALSE(found({"separate_lines/linked", {{"/opt/bin/linked.debug", "lines"}}}));
  EXPECT_FALSE(found({"separate_lines/stripped", {{path_by_id(), "separate_lines/debugdata"}}}));
  EXPECT_FALSE(found({"nothing", {}}));
  // No checksum is computed for a file of this length.
  EXPECT_FALSE(
      found({"separate_lines/linked", {{"/opt/bin/linked.debug", "separate_lines/linked.debug"}}},
            {.debug_file_bytes = 10}));
}

}  // namespace
}  // namespace overdue
