#include "symbols/symbolizer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "symbols/test_support.h"

namespace overdue {

// Not inlined, not local: this program's own symbol.
namespace symbolizer_test {
__attribute__((noinline)) int a_function_of_ours(int value) {
  return value * 5;
}
}  // namespace symbolizer_test

namespace {

using symbols_test::fixtures;

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

TEST(Symbolizer, NamesOurOwnFunctions) {
  Symbolizer symbolizer;
  auto process = Process::read(getpid());
  ASSERT_TRUE(process);
  const std::uint64_t ours =
      address_of(reinterpret_cast<void*>(&symbolizer_test::a_function_of_ours));
  const Frame frame = symbolizer.user_frame(*process, ours + 2);
  EXPECT_EQ(frame.symbol, "overdue::symbolizer_test::a_function_of_ours");
  EXPECT_EQ(frame.offset, 2u);
  EXPECT_EQ(frame.module, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(to_text(frame), frame.symbol);
  const Frame libc = symbolizer.user_frame(*process, address_of(dlsym(RTLD_DEFAULT, "getppid")));
  EXPECT_EQ(libc.symbol, "getppid");
  EXPECT_EQ(libc.build_id.size(), 40u);
}

TEST(Symbolizer, ReturnAddressesBelongToTheirCall) {
  Symbolizer symbolizer;
  auto process = Process::read(getpid());
  const std::uint64_t getppid = address_of(dlsym(RTLD_DEFAULT, "getppid"));
  const Frame frame = symbolizer.user_frame(*process, getppid, AddressKind::return_address);
  EXPECT_NE(frame.symbol, "getppid");
  const Frame inside = symbolizer.user_frame(*process, getppid + 3, AddressKind::return_address);
  EXPECT_EQ(inside.symbol, "getppid");
  EXPECT_EQ(inside.offset, 3u);
}

TEST(Symbolizer, NamesTheVdso) {
  void* vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* clock = vdso ? dlsym(vdso, "__vdso_clock_gettime") : nullptr;
  if (!clock) GTEST_SKIP() << "no vdso with __vdso_clock_gettime here";
  Symbolizer symbolizer;
  auto process = Process::read(getpid());
  const Frame frame = symbolizer.user_frame(*process, address_of(clock));
  EXPECT_NE(frame.symbol.find("clock_gettime"), std::string::npos) << frame.symbol;
  EXPECT_EQ(frame.module, "[vdso]");
}

TEST(Symbolizer, UnknownFramesNeverVanish) {
  Symbolizer symbolizer;
  ProcessMaps maps = ProcessMaps::parse(
      "1000-2000 r-xp 00003000 fe:00 99999999999 /no/such/libfoo.so\n"
      "3000-4000 rwxp 00000000 00:00 0 \n"
      "5000-6000 rw-p 00000000 00:00 0 [heap]\n"
      "7000-8000 r-xp 00000000 fe:00 99999999998 /no/\x1b[31m\n");
  Process process(1 << 30, std::move(maps),
                  PerfMap::parse("3000 10 made by a JIT\n5000 10 not code\n"));
  EXPECT_EQ(to_text(symbolizer.user_frame(process, 0x1234)), "[libfoo.so+0x3234]");
  EXPECT_EQ(symbolizer.user_frame(process, 0x1234).module, "/no/such/libfoo.so");
  EXPECT_EQ(to_text(symbolizer.user_frame(process, 0x3004)), "made by a JIT");
  EXPECT_EQ(symbolizer.user_frame(process, 0x3004).module, "[jit]");
  EXPECT_EQ(to_text(symbolizer.user_frame(process, 0x3040)), "[anon+0x40]");
  EXPECT_EQ(to_text(symbolizer.user_frame(process, 0x5001)), "[heap+0x1]");
  EXPECT_EQ(to_text(symbolizer.user_frame(process, 0x7001)), "[\\x1b[31m+0x1]");
  EXPECT_EQ(to_text(symbolizer.user_frame(process, 0x9000)), "[unknown]");
  EXPECT_EQ(symbolizer.user_frame(process, 0x9000).offset, 0x9000u);
  EXPECT_EQ(to_text(symbolizer.user_frame(process, 0, AddressKind::return_address)), "[unknown]");
}

TEST(Symbolizer, NamesTheKernel) {
  const Symbolizer symbolizer(
      KernelSymbols::parse("ffffffff81000000 T work\nffffffff81000100 t more\t[ext4]\n"));
  const Frame frame = symbolizer.kernel_frame(0xffffffff81000010);
  EXPECT_EQ(frame.symbol, "work");
  EXPECT_EQ(frame.module, "[kernel]");
  EXPECT_EQ(symbolizer.kernel_frame(0xffffffff81000100, AddressKind::return_address).symbol,
            "work");
  EXPECT_EQ(symbolizer.kernel_frame(0xffffffff81000100).module, "[ext4]");
  EXPECT_EQ(to_text(symbolizer.kernel_frame(0xffffffff80000000)), "[kernel+0xffffffff80000000]");
}

/// A running fixture, and the addresses of functions that it prints.
class Running {
 public:
  explicit Running(const std::string& command) {
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(input[0], 0);
      dup2(output[1], 1);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    close(input[0]);
    close(output[1]);
    input_ = Fd(input[1]);
    const Fd out(output[0]);
    std::string text;
    char byte = 0;
    while (::read(out.get(), &byte, 1) == 1 && byte != '\n') text += byte;
    std::istringstream(text) >> std::hex >> main_ >> local_ >> exported_;
  }
  ~Running() {
    input_.reset();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  std::uint64_t main() const { return main_; }
  std::uint64_t local() const { return local_; }

 private:
  pid_t pid_ = -1;
  Fd input_;
  std::uint64_t main_ = 0, local_ = 0, exported_ = 0;
};

void expect_named(const Running& running) {
  Symbolizer symbolizer;
  auto process = Process::read(running.pid());
  ASSERT_TRUE(process);
  EXPECT_EQ(symbolizer.user_frame(*process, running.main()).symbol, "main");
  EXPECT_EQ(symbolizer.user_frame(*process, running.main()).offset, 0u);
  EXPECT_EQ(symbolizer.user_frame(*process, running.local()).symbol, "local_function");
}

TEST(Symbolizer, EveryKindOfProgram) {
  for (const char* name :
       {"pie", "static", "moved", "lazy", "separate/debugdata", "separate/linked"}) {
    SCOPED_TRACE(name);
    expect_named(Running("exec " + fixtures + "/" + name + " wait"));
  }
}

TEST(Symbolizer, DeletedProgram) {
  if (geteuid() != 0) GTEST_SKIP() << "map_files need root";
  const std::string copy = testing::TempDir() + "/overdue-deleted-" + std::to_string(getpid());
  std::filesystem::copy_file(fixtures + "/pie", copy);
  const Running running("exec " + copy + " wait");
  unlink(copy.c_str());
  expect_named(running);
}

TEST(Symbolizer, ProgramOfAnotherMountNamespace) {
  if (geteuid() != 0 || std::system("unshare -m true 2>/dev/null") != 0)
    GTEST_SKIP() << "cannot make a mount namespace";
  const std::string folder = testing::TempDir() + "/overdue-namespace-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const Running running("exec unshare -m sh -c 'mount -t tmpfs none " + folder + " && cp " +
                        fixtures + "/pie " + folder + "/hidden && exec " + folder +
                        "/hidden wait'");
  EXPECT_FALSE(std::filesystem::exists(folder + "/hidden"));
  expect_named(running);
  std::filesystem::remove(folder);
}

TEST(Symbolizer, LoadsAFileOnceForAllProcesses) {
  Symbolizer symbolizer;
  const std::string command = "exec " + fixtures + "/pie wait";
  const Running first(command), second(command);
  auto one = Process::read(first.pid()), other = Process::read(second.pid());
  symbolizer.user_frame(*one, first.main());
  symbolizer.user_frame(*other, second.main());
  symbolizer.user_frame(*one, first.local());
  EXPECT_EQ(symbolizer.cost().loads, 1u);
  EXPECT_EQ(symbolizer.cost().files, 1u);
  EXPECT_GT(symbolizer.cost().bytes, 100u);
}

TEST(Symbolizer, KeepsToItsBudget) {
  const Running running("exec " + fixtures + "/pie wait");
  for (const bool by_bytes : {false, true}) {
    Symbolizer::Options options;
    (by_bytes ? options.cache_bytes : options.cache_files) = 1;
    Symbolizer symbolizer({}, std::move(options));
    auto process = Process::read(running.pid());
    auto ours = Process::read(getpid());
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(symbolizer.user_frame(*process, running.main()).symbol, "main");
      EXPECT_EQ(symbolizer.user_frame(*ours, address_of(dlsym(RTLD_DEFAULT, "getppid"))).symbol,
                "getppid");
      EXPECT_EQ(symbolizer.cost().files, 1u);
    }
    EXPECT_EQ(symbolizer.cost().loads, 6u);
    EXPECT_EQ(symbolizer.cost().evictions, 5u);
  }
}

TEST(Symbolizer, AFileThatChangedIsReadAgain) {
  const std::string path = testing::TempDir() + "/overdue-changed-" + std::to_string(getpid());
  std::filesystem::copy_file(fixtures + "/pie", path);
  Symbolizer::Options options;
  options.open_mapped = [&](pid_t, const Mapping&) { return open_regular(path); };
  Symbolizer symbolizer({}, std::move(options));
  const auto build_id = [&] {
    Process process(1 << 30, ProcessMaps::parse("1000-2000 r-xp 00000000 fe:00 1 /a\n"));
    return symbolizer.user_frame(process, 0x1000).build_id;
  };
  const std::string before = build_id();
  EXPECT_EQ(before, build_id());
  EXPECT_EQ(symbolizer.cost().loads, 1u);
  // The same size and modification time as before, as of a file in disguise.
  const auto time = std::filesystem::last_write_time(path);
  const auto content = symbols_test::content_of(path);
  std::string id;
  for (std::size_t i = 0; i < before.size(); i += 2)
    id += static_cast<char>(std::stoi(before.substr(i, 2), nullptr, 16));
  const auto at =
      std::string_view(reinterpret_cast<const char*>(content.data()), content.size()).find(id);
  ASSERT_NE(at, std::string_view::npos);
  struct stat old_status, status;
  ASSERT_EQ(stat(path.c_str(), &old_status), 0);
  do {  // the kernel's clock of files ticks every few milliseconds
    usleep(1000);
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(at))
        .put(static_cast<char>(~id[0]));
    std::filesystem::last_write_time(path, time);
    ASSERT_EQ(stat(path.c_str(), &status), 0);
  } while (status.st_ctim.tv_nsec == old_status.st_ctim.tv_nsec);
  EXPECT_NE(before, build_id());
  EXPECT_EQ(symbolizer.cost().loads, 2u);
  unlink(path.c_str());
}

}  // namespace
}  // namespace overdue
