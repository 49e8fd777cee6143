// Writes every man page and the completions of bash, zsh and fish into a directory:
// overdue_manual DIRECTORY.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "cli/completion.h"
#include "cli/help.h"

namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw overdue::Error("cannot write {}", path);
}

void write_page(const std::string& directory, std::string_view page) {
  const std::string name = page == "overdue" ? "overdue" : fmt::format("overdue-{}", page);
  write_file(fmt::format("{}/{}.1", directory, name), overdue::man_page(page, OVERDUE_VERSION));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: overdue_manual DIRECTORY\n");
    return 2;
  }
  try {
    for (const std::string_view page : overdue::help_pages()) write_page(argv[1], page);
    write_file(fmt::format("{}/overdue.bash", argv[1]), overdue::bash_completion());
    write_file(fmt::format("{}/_overdue", argv[1]), overdue::zsh_completion());
    write_file(fmt::format("{}/overdue.fish", argv[1]), overdue::fish_completion());
  } catch (const std::exception& error) {
    fmt::print(stderr, "overdue_manual: {}\n", error.what());
    return 1;
  }
  return 0;
}
