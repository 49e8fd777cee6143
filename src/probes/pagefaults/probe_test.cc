
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <vector>

#include "bpf/pagefaults.h"
#include "probes/span_fixture.h"

namespace overdue {
namespace {

class PagefaultsProbe : public SpanTest {
 protected:
  PagefaultsProbe() : SpanTest({SPAN_PAGEFAULT}) {}

  /// Spans of the child's faults, minor or major.
  std::vector<SeenSpan> faults(const Child& child, bool major) const {
    std::vector<SeenSpan> found = of(SPAN_PAGEFAULT);
    std::erase_if(found, [&](const SeenSpan& span) {
      return span.record.header.pid != child.pid() ||
             major != ((span.record.detail & PAGEFAULT_MAJOR) != 0);
    });
    return found;
  }
};

constexpr std::size_t page = 4096, pages = 500;

/// What the kernel counted for this process: in shared memory, for the test.
struct Counted {
  long minor, major;
};
Counted counted() {
  rusage use{};
  return getrusage(RUSAGE_SELF, &use) == 0 ? Counted{use.ru_minflt, use.ru_majflt} : Counted{};
}
Counted* shared_counts() {
  void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("cannot map memory");
  return new (memory) Counted{};
}
void note(Counted* counts, const Counted& before) {
  const Counted after = counted();
  *counts = {after.minor - before.minor, after.major - before.major};
}

/// Writes to each page of new memory, one page at a time.
void touch_memory() {
  auto* memory = static_cast<char*>(mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED || madvise(memory, pages * page, MADV_NOHUGEPAGE) != 0) _exit(1);
  for (std::size_t i = 0; i < pages; ++i) const_cast<volatile char*>(memory)[i * page] = 1;
}

TEST_F(PagefaultsProbe, EachPageOfNewMemoryIsAMinorFault) {
  Counted* const counts = shared_counts();
  Child child([counts](Child&) {
    const Counted before = counted();
    touch_memory();
    note(counts, before);
  });
  measure(only(child.pid()));
  want(SPAN_PAGEFAULT, 1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  expect_sound();
  std::size_t written = 0;
  for (const SeenSpan& span : faults(child, false)) {
    EXPECT_LT(span.record.latency_ns, 10'000'000'000u);
    if (span.text() == "minor anonymous" && span.record.detail & PAGEFAULT_WRITE) ++written;
  }
  // Our own program is hidden from no fault but those that interrupt it.
  EXPECT_GE(written, pages * 99 / 100);
  const auto seen = static_cast<long>(faults(child, false).size() + faults(child, true).size());
  // The child's begin and end, outside of its own account, have faults too: fewer than 200.
  EXPECT_GE(seen, (counts->minor + counts->major) * 99 / 100);
  EXPECT_LE(seen, counts->minor + counts->major + 200);
  munmap(counts, page);
}

/// A file with all of its pages on the disk.
class ColdFile {
 public:
  ColdFile() : path_("overdue-fault-XXXXXX") {
    if (const char* folder = std::getenv("OVERDUE_DISK"))
      path_.insert(0, std::string(folder) + '/');
    fd_ = Fd(check_errno(mkostemp(path_.data(), O_CLOEXEC), "cannot make a file"));
    const std::vector<char> bytes(pages * page, 'o');
    if (write(fd_.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
        fsync(fd_.get()) != 0)
      throw Error("cannot write a file");
  }
  ~ColdFile() { unlink(path_.c_str()); }
  ColdFile(const ColdFile&) = delete;
  ColdFile& operator=(const ColdFile&) = delete;

  int fd() const { return fd_.get(); }
  std::string name() const { return path_.substr(path_.rfind('/') + 1); }
  /// Whether the file's pages have left the memory: not those of a tmpfs.
  bool cool() const {
    if (posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) return false;
    void* memory = mmap(nullptr, pages * page, PROT_READ, MAP_SHARED, fd_.get(), 0);
    if (memory == MAP_FAILED) return false;
    std::vector<unsigned char> present(pages);
    const bool known = mincore(memory, pages * page, present.data()) == 0;
    munmap(memory, pages * page);
    return known && std::ranges::none_of(present, [](unsigned char one) { return one & 1; });
  }

 private:
  std::string path_;
  Fd fd_;
};

TEST_F(PagefaultsProbe, PagesOfAFileThatAreNotInMemoryAreMajorFaultsOfThisFile) {
  const ColdFile file;
  if (!file.cool()) GTEST_SKIP() << "the pages of files in this folder stay in memory";
  Counted* const counts = shared_counts();
  Child child([&file, counts](Child&) {
    const Counted before = counted();
    auto* memory =
        static_cast<char*>(mmap(nullptr, pages * page, PROT_READ, MAP_SHARED, file.fd(), 0));
    // Without read-ahead, each page is read by itself.
    if (memory == MAP_FAILED || madvise(memory, pages * page, MADV_RANDOM) != 0) _exit(1);
    for (std::size_t i = 0; i < pages; ++i)
      if (const_cast<volatile char*>(memory)[i * page] != 'o') _exit(1);
    note(counts, before);
  });
  measure(only(child.pid()));
  want(SPAN_PAGEFAULT, 1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  expect_sound();
  std::size_t of_file = 0;
  for (const SeenSpan& span : faults(child, true))
    if (span.text() == "major " + file.name()) ++of_file;
  const auto major = static_cast<long>(faults(child, true).size());
  EXPECT_GE(counts->major, 1);
  EXPECT_GE(major, counts->major * 99 / 100);
  EXPECT_LE(major, counts->major + 50);  // its begin and end
  EXPECT_GE(of_file, static_cast<std::size_t>(counts->major) * 95 / 100);
  munmap(counts, page);
}

TEST_F(PagefaultsProbe, AFaultInASystemCallCountsAndOneThatFailsDoesNot) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  void* const memory =
      mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto read_into_new_memory = [&](Child&) {
    if (write(ends[1], "o", 1) != 1 || read(ends[0], memory, 1) != 1) _exit(1);
    if (syscall(SYS_write, ends[1], nullptr, 1) != -1) _exit(1);  // no page is there
  };
  Child child(read_into_new_memory);
  Child bystander(read_into_new_memory);
  measure(only(child.pid()));
  want(SPAN_PAGEFAULT, 1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  bystander.go();
  EXPECT_EQ(bystander.end(), 0);
  finish();
  expect_sound();
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  std::size_t in_call = 0;
  for (const SeenSpan& span : of(SPAN_PAGEFAULT)) {
    EXPECT_EQ(span.record.header.pid, child.pid());
    EXPECT_GE(span.record.subject, page);
    if (span.record.subject >= address && span.record.subject < address + page) ++in_call;
  }
  EXPECT_EQ(in_call, 1u);
  munmap(memory, page);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace overdue
