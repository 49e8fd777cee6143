// Writes every man page into a directory: overdue_manual DIRECTORY.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "cli/help.h"

namespace {

void write_page(const std::string& directory, std::string_view page) {
  const std::string name = page == "overdue" ? "overdue" : fmt::format("overdue-{}", page);
  const std::string path = fmt::format("{}/{}.1", directory, name);
  std::ofstream file(path);
  file << overdue::man_page(page, OVERDUE_VERSION);
  file.close();
  if (!file) throw overdue::Error("cannot write {}", path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: overdue_manual DIRECTORY\n");
    return 2;
  }
  try {
    for (const std::string_view page : overdue::help_pages()) write_page(argv[1], page);
  } catch (const std::exception& error) {
    fmt::print(stderr, "overdue_manual: {}\n", error.what());
    return 1;
  }
  return 0;
}
