#include "symbols/process_maps.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <utility>

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

/// A child that maps files of an overlay, as programs in containers do, at one address in turn.
class OverlayFile : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder + "/lower");
    for (const char* const name : {"a", "b"})
      std::ofstream(folder + "/lower/" + name) << std::string(4096, name[0]);
    int to_child[2], from_child[2];
    ASSERT_EQ(pipe2(to_child, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(from_child, O_CLOEXEC), 0);
    child_ = fork();
    if (child_ == 0) {
      close(to_child[1]);
      run_child(to_child[0], from_child[1]);
    }
    close(to_child[0]);
    close(from_child[1]);
    to_child_ = Fd(to_child[1]);
    from_child_ = Fd(from_child[0]);
    if (has_answered()) return;
    int status = 0;
    waitpid(std::exchange(child_, -1), &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    const int error = WEXITSTATUS(status);
    ASSERT_TRUE(error == EPERM || error == ENODEV || error == EACCES) << strerror(error);
    GTEST_SKIP() << "no overlay can be mounted here: " << strerror(error);
  }
  ~OverlayFile() override {
    to_child_.reset();
    if (child_ > 0) waitpid(child_, nullptr, 0);
    std::filesystem::remove_all(folder);
  }
  /// The child maps the file in place of the one before.
  Mapping map(const std::string& name) {
    EXPECT_EQ(write(to_child_.get(), name.data(), 1), 1);
    EXPECT_TRUE(has_answered());
    maps_.push_back(*ProcessMaps::read(child_));
    for (const Mapping& mapping : maps_.back().all())
      if (mapping.path.ends_with("/merged/" + name)) return mapping;
    ADD_FAILURE() << name << " is not mapped";
    return {};
  }
  std::string first_byte(const Mapping& mapping) const {
    const FileBytes bytes(open_mapped_file(child_, mapping));
    const auto start = bytes.get<char>(0);
    return start ? std::string(1, *start) : "";
  }
  const std::string folder = testing::TempDir() + "/overdue-overlay-" + std::to_string(getpid());

 private:
  bool has_answered() {
    char answer = 0;
    return read(from_child_.get(), &answer, 1) == 1;
  }
  /// Mounts an overlay whose upper layer is another file system; if it cannot, the child ends with
  /// the error as its status.
  [[noreturn]] void run_child(int commands, int answers) const {
    const std::string memory = folder + "/memory", merged = folder + "/merged";
    std::filesystem::create_directory(memory);
    std::filesystem::create_directory(merged);
    const std::string layers =
        "lowerdir=" + folder + "/lower,upperdir=" + memory + "/upper,workdir=" + memory + "/work";
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", memory.c_str(), "tmpfs", 0, nullptr) != 0 ||
        mkdir((memory + "/upper").c_str(), 0755) != 0 ||
        mkdir((memory + "/work").c_str(), 0755) != 0 ||
        mount("none", merged.c_str(), "overlay", 0, layers.c_str()) != 0)
      _exit(errno);
    std::ofstream(merged + "/b", std::ios::app) << "copied up";
    void* address = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char name = ' ';
    while (write(answers, &name, 1) == 1 && read(commands, &name, 1) == 1) {
      const Fd file = open_regular(merged + "/" + name);
      mmap(address, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file.get(), 0);
    }
    _exit(0);
  }

  pid_t child_ = -1;
  Fd to_child_, from_child_;
  std::list<ProcessMaps> maps_;  ///< own the paths of the mappings
};

TEST_F(OverlayFile, IsOpened) {
  EXPECT_EQ(first_byte(map("a")), "a");
  EXPECT_EQ(first_byte(map("b")), "b") << "its numbers differ from those of the mapping";
}

TEST_F(OverlayFile, IsNeverWhatTookItsPlace) {
  const Mapping a = map("a"), b = map("b");
  EXPECT_NE(first_byte(a), "b");
  map("a");
  EXPECT_NE(first_byte(b), "a");
  EXPECT_EQ(first_byte(a), "a");
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
