#include "symbols/process_maps.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "symbols/test_support.h"

namespace overdue {
namespace {

constexpr std::string_view maps_text =
    "558aeaf8f000-558aeaf91000 r--p 00000000 fe:00 247134                     /usr/bin/cat\n"
    "558aeaf91000-558aeaf96000 r-xp 00002000 fe:00 247134                     /usr/bin/cat\n"
    "558b25ad3000-558b25af4000 rw-p 00000000 00:00 0                          [heap]\n"
    "7fa3cdb2c000-7fa3cdb4e000 rwxp 00000000 00:00 0 \n"
    "7fa3cdb4e000-7fa3cdba5000 r-xp 00000000 103:02 320475                     /tmp/a b (deleted)\n"
    "7fa3cdba5000-7fa3cdba6000 r-xp 00000000 fe:00 5                          /tmp/line\\012feed\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

TEST(ProcessMaps, ReadsLines) {
  const auto maps = ProcessMaps::parse(maps_text);
  EXPECT_EQ(maps.malformed_lines(), 0u);
  ASSERT_EQ(maps.all().size(), 7u);
  const Mapping* code = maps.find(0x558aeaf91000);
  ASSERT_TRUE(code);
  EXPECT_EQ(code->start, 0x558aeaf91000u);
  EXPECT_EQ(code->end, 0x558aeaf96000u);
  EXPECT_EQ(code->file_offset, 0x2000u);
  EXPECT_EQ(code->device_major, 0xfeu);
  EXPECT_EQ(code->device_minor, 0u);
  EXPECT_EQ(code->inode, 247134u);
  EXPECT_TRUE(code->is_executable);
  EXPECT_FALSE(code->is_deleted);
  EXPECT_EQ(code->path, "/usr/bin/cat");
  EXPECT_FALSE(maps.find(0x558aeaf90fff)->is_executable);
  EXPECT_EQ(maps.find(0x558b25ad3000)->path, "[heap]");
  EXPECT_EQ(maps.find(0x7fa3cdb2c000)->path, "");
  EXPECT_EQ(maps.find(0xffffffffff600400)->path, "[vsyscall]");
}

TEST(ProcessMaps, HostileNames) {
  const auto maps = ProcessMaps::parse(maps_text);
  const Mapping* deleted = maps.find(0x7fa3cdb4e000);
  EXPECT_EQ(deleted->path, "/tmp/a b");
  EXPECT_TRUE(deleted->is_deleted);
  EXPECT_EQ(deleted->device_major, 0x103u);
  EXPECT_EQ(deleted->device_minor, 2u);
  EXPECT_EQ(maps.find(0x7fa3cdba5000)->path, "/tmp/line\nfeed");
}

TEST(ProcessMaps, FindsNothingBetweenMappings) {
  const auto maps = ProcessMaps::parse(maps_text);
  for (const std::uint64_t address :
       {0ul, 0x558aeaf8efffu + 0ul, 0x558aeaf96000ul, 0xffffffffff601000ul, ~0ul})
    EXPECT_EQ(maps.find(address), nullptr) << std::hex << address;
  EXPECT_EQ(ProcessMaps().find(0), nullptr);
}

TEST(ProcessMaps, CountsLinesWithoutSense) {
  const auto maps = ProcessMaps::parse(
      "rubbish\n1000-2000\n1000-2000 r-xp\n1000-2000 r-xp 0 fe:00\n2000-1000 r-xp 00000000 fe:00 1 "
      "/a\n"
      "1000-2000 r-xp 00000000 fe:00 x /a\n1000-2000 r-xp 00000000 fe:00 1 /a\n");
  EXPECT_EQ(maps.malformed_lines(), 6u);
  EXPECT_EQ(maps.all().size(), 1u);
}

TEST(ProcessMaps, WhatIsAddedReplacesWhatWasThere) {
  ProcessMaps maps;
  for (const auto& [start, end, path] : {std::tuple{0x1000u, 0x3000u, "a"},
                                         {0x5000u, 0x6000u, "b"},
                                         {0x3000u, 0x5000u, "c"},
                                         {0x2000u, 0x4000u, "d"}}) {
    Mapping mapping;
    mapping.start = start;
    mapping.end = end;
    mapping.path = path;
    maps.add(mapping);
  }
  ASSERT_EQ(maps.all().size(), 2u);
  EXPECT_EQ(maps.find(0x2000)->path, "d");
  EXPECT_EQ(maps.find(0x5fff)->path, "b");
  EXPECT_EQ(maps.find(0x1000), nullptr);
  const ProcessMaps moved = std::move(maps);
  EXPECT_EQ(moved.find(0x2000)->path, "d");
}

TEST(ProcessMaps, OfThisProcess) {
  const auto maps = ProcessMaps::read(getpid());
  ASSERT_TRUE(maps);
  EXPECT_EQ(maps->malformed_lines(), 0u);
  const Mapping* code = maps->find(reinterpret_cast<std::uint64_t>(&getpid));
  ASSERT_TRUE(code);
  EXPECT_TRUE(code->is_executable);
  EXPECT_EQ(ProcessMaps::read(1 << 30), std::nullopt);
}

/// A mapped page of a file of this test.
class MappedFile : public testing::Test {
 protected:
  MappedFile() {
    std::filesystem::create_directory(folder);
    std::ofstream(path) << std::string(4096, 'a');
    const Fd file = open_regular(path);
    address_ = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file.get(), 0);
  }
  ~MappedFile() override {
    munmap(address_, 4096);
    std::filesystem::remove_all(folder);
  }
  std::string first_bytes(pid_t pid = getpid()) const {
    const auto maps = ProcessMaps::read(getpid());
    const Mapping* mapping = maps->find(reinterpret_cast<std::uint64_t>(address_));
    const FileBytes bytes(open_mapped_file(pid, *mapping));
    const auto start = bytes.get<std::array<char, 4>>(0);
    return start ? std::string(start->data(), 4) : "";
  }
  const std::string folder = testing::TempDir() + "/overdue-maps-" + std::to_string(getpid());
  const std::string path = folder + "/a\nb (deleted)";
  void* address_;
};

TEST_F(MappedFile, IsOpened) {
  EXPECT_EQ(first_bytes(), "aaaa");
  EXPECT_EQ(first_bytes(1 << 30), "aaaa");  // as if the process were gone
}

TEST_F(MappedFile, IsNeverWhatTookItsName) {
  std::ofstream(path + ".new") << std::string(4096, 'b');
  std::filesystem::rename(path + ".new", path);
  EXPECT_EQ(first_bytes(1 << 30), "");
  EXPECT_NE(first_bytes(), "bbbb");
}

TEST_F(MappedFile, MayBeDeleted) {
  if (access(("/proc/self/map_files/"), R_OK) != 0 || geteuid() != 0)
    GTEST_SKIP() << "map_files need root";
  unlink(path.c_str());
  EXPECT_EQ(first_bytes(), "aaaa");
  EXPECT_EQ(first_bytes(1 << 30), "");
}

TEST(OpenRegular, OpensNothingElse) {
  const std::string folder = testing::TempDir() + "/overdue-open-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/file") << "text";
  ASSERT_EQ(mkfifo((folder + "/fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/etc/passwd", folder + "/out");
  std::filesystem::create_symlink("/file", folder + "/in");
  EXPECT_TRUE(open_regular(folder + "/file"));
  EXPECT_FALSE(open_regular(folder + "/fifo"));
  EXPECT_FALSE(open_regular("/dev/zero"));
  EXPECT_FALSE(open_regular(folder));

  const Fd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(open_regular_in(root, getpid(), "/file", SymbolicLinks::refused));
  EXPECT_TRUE(open_regular_in(root, getpid(), "/in", SymbolicLinks::followed));
  EXPECT_FALSE(open_regular_in(root, getpid(), "/in", SymbolicLinks::refused));
  EXPECT_FALSE(open_regular_in(root, getpid(), "/out", SymbolicLinks::followed));
  EXPECT_FALSE(open_regular_in(root, getpid(), "/../../../etc/passwd", SymbolicLinks::followed));
  EXPECT_TRUE(open_regular_in(root, getpid(), "/../file", SymbolicLinks::followed));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace overdue
