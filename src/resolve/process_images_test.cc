#include "resolve/process_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>

#include <fmt/format.h>

namespace overdue {
namespace {

using Kind = ProcessEvent::Kind;

constexpr std::string_view old_maps =
    "1000-2000 r-xp 00000000 08:01 5 /bin/old\n"
    "2000-3000 rw-p 00001000 08:01 5 /bin/old\n";

KernelTime at(unsigned time) {
  return KernelTime(Duration(time));
}

/// Images of processes that exist only here.
class ProcessImagesTest : public testing::Test {
 protected:
  ProcessImages::Options options() {
    return {.past_apart = {},
            .read_maps = [this](pid_t pid) -> std::optional<ProcessMaps> {
              const auto found = proc_.find(pid);
              if (found == proc_.end()) return std::nullopt;
              return ProcessMaps::parse(found->second);
            },
            .open_mapped =
                [this](pid_t pid, const Mapping& mapping) {
                  opened_.push_back(fmt::format("{}:{}", pid, mapping.path));
                  return is_openable_ ? Fd(memfd_create("file", MFD_CLOEXEC)) : Fd();
                },
            .born = [this](const Fd&) { return born_; },
            .now = [this] { return at(now_); }};
  }
  ProcessEvent mapping(pid_t pid, unsigned time, std::string path, std::uint64_t start = 0x1000,
                       std::uint64_t end = 0x2000) {
    return {.kind = Kind::mapping,
            .time = at(time),
            .pid = pid,
            .tid = pid,
            .is_executable = true,
            .start = start,
            .end = end,
            .device_major = 8,
            .device_minor = 1,
            .inode = 5,
            .text = std::move(path)};
  }
  ProcessEvent exec(pid_t pid, unsigned time) {
    return {.kind = Kind::exec, .time = at(time), .pid = pid, .tid = pid, .text = "name"};
  }
  ProcessEvent fork(pid_t parent, pid_t pid, unsigned time) {
    return {.kind = Kind::fork, .time = at(time), .pid = pid, .tid = pid, .parent_pid = parent};
  }
  ProcessEvent end(pid_t pid, unsigned time) {
    return {.kind = Kind::exit, .time = at(time), .pid = pid, .tid = pid};
  }
  /// "/bin/old 1000-2000, …"
  static std::string text(const std::shared_ptr<const ProcessImage>& image) {
    if (!image) return "none";
    std::string all;
    for (const auto& entry : image->entries())
      all += fmt::format("{}{} {:x}-{:x}@{:x}", all.empty() ? "" : ", ", entry.mapping.path,
                         entry.mapping.start, entry.mapping.end, entry.mapping.file_offset);
    return all;
  }

  std::map<pid_t, std::string> proc_;
  std::vector<std::string> opened_;
  bool is_openable_ = true;
  std::optional<KernelTime> born_;
  unsigned now_ = 10;
};

TEST_F(ProcessImagesTest, ReadsWhatCodeIsMappedWhenAsked) {
  proc_[7] = old_maps;
  ProcessImages images(options());
  const auto image = images.image_of(7);
  EXPECT_EQ(text(image), "/bin/old 1000-2000@0");
  EXPECT_EQ(images.image_of(7), image);
  EXPECT_EQ(images.cost().reads, 1u);
  EXPECT_EQ(images.image_of(8), nullptr);
  EXPECT_EQ(images.image_of(8), nullptr);
  EXPECT_EQ(images.cost().reads, 2u);  // one failed read is enough
}

TEST_F(ProcessImagesTest, MappingsThatFollowChangeACopy) {
  proc_[7] = old_maps;
  ProcessImages images(options());
  const auto before = images.image_of(7);
  images.handle(mapping(7, 9, "/lib/early", 0x8000, 0x9000));  // read with the others
  EXPECT_EQ(images.image_of(7), before);
  images.handle(mapping(7, 11, "/bin/old"));  // already known
  EXPECT_EQ(images.image_of(7), before);
  images.handle(mapping(7, 12, "/lib/x (deleted)", 0x5000, 0x6000));
  EXPECT_EQ(text(before), "/bin/old 1000-2000@0");
  const auto after = images.image_of(7);
  EXPECT_EQ(text(after), "/bin/old 1000-2000@0, /lib/x 5000-6000@0");
  EXPECT_TRUE(after->find(0x5fff)->mapping.is_deleted);
  EXPECT_NE(before->id(), after->id());
  EXPECT_EQ(after->find(0x6000), nullptr);
}

TEST_F(ProcessImagesTest, AMappingInTheMiddleOfAnother) {
  proc_[7] = "1000-9000 r-xp 00000000 08:01 5 /bin/old\n";
  ProcessImages images(options());
  images.image_of(7);
  images.handle(mapping(7, 12, "/x", 0x3000, 0x4000));
  EXPECT_EQ(text(images.image_of(7)),
            "/bin/old 1000-3000@0, /x 3000-4000@0, /bin/old 4000-9000@3000");
  images.handle(mapping(7, 13, "/y", 0x2000, 0x5000));
  EXPECT_EQ(text(images.image_of(7)),
            "/bin/old 1000-2000@0, /y 2000-5000@0, /bin/old 5000-9000@4000");
}

TEST_F(ProcessImagesTest, AnExecBeginsAnewAndThePastIsKnown) {
  ProcessImages images(options());
  images.handle(fork(1, 7, 20));
  images.handle(exec(7, 30));
  images.handle(mapping(7, 31, "/bin/first"));
  images.handle(exec(7, 40));
  images.handle(mapping(7, 41, "/bin/second"));
  images.handle(end(7, 50));
  EXPECT_EQ(text(images.image_of(7)), "/bin/second 1000-2000@0");
  EXPECT_EQ(text(images.image_of(7, at(45))), "/bin/second 1000-2000@0");
  EXPECT_EQ(text(images.image_of(7, at(35))), "/bin/first 1000-2000@0");
  EXPECT_EQ(images.cost().reads, 0u);
}

TEST_F(ProcessImagesTest, AForkShares) {
  ProcessImages images(options());
  images.handle(exec(7, 20));
  images.handle(mapping(7, 21, "/bin/x"));
  images.handle(fork(7, 8, 30));
  EXPECT_EQ(images.image_of(7), images.image_of(8));
  EXPECT_EQ(images.cost().mappings, 1u);
  images.handle(mapping(8, 31, "/lib/y", 0x5000, 0x6000));
  EXPECT_EQ(text(images.image_of(7)), "/bin/x 1000-2000@0");
  EXPECT_EQ(text(images.image_of(8)), "/bin/x 1000-2000@0, /lib/y 5000-6000@0");
  EXPECT_EQ(images.image_of(8)->pid(), 8);
  images.handle(fork(7, 7, 40));  // a thread
  EXPECT_EQ(text(images.image_of(7)), "/bin/x 1000-2000@0");
}

TEST_F(ProcessImagesTest, WhatWasForkedAndIsGoneHadWhatItsParentHad) {
  proc_[7] = old_maps;
  ProcessImages images(options());
  images.handle(fork(7, 8, 20));
  images.handle(fork(8, 9, 21));
  images.handle(end(9, 22));
  images.handle(end(8, 23));
  EXPECT_EQ(text(images.image_of(9)), "/bin/old 1000-2000@0");
  images.handle(fork(7, 10, 30));
}

TEST_F(ProcessImagesTest, ButNotWhatItsParentBecameSince) {
  proc_[7] = "1000-2000 r-xp 00000000 08:01 6 /bin/new\n";
  ProcessImages images(options());
  images.handle(fork(7, 8, 20));
  images.handle(end(8, 21));
  images.handle(exec(7, 22));
  images.handle(mapping(7, 23, "/bin/new"));
  EXPECT_EQ(images.image_of(8), nullptr);
}

TEST_F(ProcessImagesTest, ANumberIsUsedAgain) {
  ProcessImages images(options());
  images.handle(exec(7, 20));
  images.handle(mapping(7, 21, "/bin/x"));
  images.handle(end(7, 22));
  EXPECT_EQ(text(images.image_of(7)), "/bin/x 1000-2000@0");
  images.handle(exec(3, 23));
  images.handle(mapping(3, 24, "/bin/parent"));
  images.handle(fork(3, 7, 30));
  EXPECT_EQ(text(images.image_of(7)), "/bin/parent 1000-2000@0");
  EXPECT_EQ(text(images.image_of(7, at(21))), "/bin/x 1000-2000@0");
}

TEST_F(ProcessImagesTest, AfterALossProcIsReadAgain) {
  proc_[7] = old_maps;
  ProcessImages images(options());
  images.image_of(7);
  proc_[7] = "1000-2000 r-xp 00000000 08:01 6 /bin/new\n";
  images.handle({.kind = Kind::lost, .time = at(20), .lost_events = 3});
  EXPECT_EQ(text(images.image_of(7)), "/bin/new 1000-2000@0");
  EXPECT_EQ(images.cost().lost_events, 3u);
  EXPECT_EQ(images.cost().reads, 2u);
  images.handle({.kind = Kind::lost, .time = at(21), .lost_events = 1});
  proc_.clear();
  EXPECT_EQ(text(images.image_of(7)), "/bin/new 1000-2000@0");  // better than nothing
}

TEST_F(ProcessImagesTest, CodeThatTookThePlaceOfOtherCode) {
  proc_[7] = old_maps;
  ProcessImages images(options());
  images.image_of(7);
  images.handle(mapping(7, 20, "/lib/a", 0x5000, 0x6000));
  images.handle(mapping(7, 30, "/lib/b", 0x5000, 0x6000));
  images.handle(mapping(7, 40, "/lib/a", 0x5000, 0x6000));
  EXPECT_EQ(text(images.image_of(7, at(29))), "/bin/old 1000-2000@0, /lib/a 5000-6000@0");
  EXPECT_EQ(text(images.image_of(7, at(39))), "/bin/old 1000-2000@0, /lib/b 5000-6000@0");
  EXPECT_EQ(text(images.image_of(7, at(40))), "/bin/old 1000-2000@0, /lib/a 5000-6000@0");
  EXPECT_NE(images.image_of(7, at(29))->id(), images.image_of(7)->id());
}

TEST_F(ProcessImagesTest, AnotherFileWithTheSameNumberIsAnotherFile) {
  ProcessImages images(options());
  images.handle(exec(7, 20));
  ProcessEvent event = mapping(7, 21, "/lib/a");
  event.inode_generation = 1;
  images.handle(event);
  const auto before = images.image_of(7);
  event.time = at(30);
  images.handle(event);
  EXPECT_EQ(images.image_of(7), before) << "announced twice";
  event.time = at(40);
  event.inode_generation = 2;
  images.handle(event);
  EXPECT_NE(images.image_of(7), before);
  EXPECT_EQ(images.image_of(7, at(39)), before);
  born_ = at(35);
  EXPECT_TRUE(images.open(*images.image_of(7), before->entries()[0].mapping, 7));
  EXPECT_FALSE(images.open(*before, before->entries()[0].mapping, 7)) << "it was not there yet";
}

TEST_F(ProcessImagesTest, WhatWasMappedBeforeProcWasReadWasNotThereAllAlong) {
  proc_[7] = "1000-2000 r-xp 00000000 08:01 5 /bin/old\n5000-6000 r-xp 00000000 08:01 5 /lib/b\n";
  now_ = 100;
  ProcessImages images(options());
  EXPECT_TRUE(images.image_of(7, at(50)));
  EXPECT_TRUE(images.was_read_later(7, at(50)));
  images.handle(mapping(7, 60, "/lib/b", 0x5000, 0x6000));
  EXPECT_EQ(text(images.image_of(7, at(50))), "/bin/old 1000-2000@0");
  EXPECT_EQ(text(images.image_of(7, at(60))), "/bin/old 1000-2000@0, /lib/b 5000-6000@0");
  images.handle(exec(7, 70));
  EXPECT_EQ(images.image_of(7, at(60)), nullptr) << "it was another program";
  EXPECT_NE(images.image_of(7, at(70)), nullptr);
}

TEST_F(ProcessImagesTest, WhatIsMappedLaterIsInNoImageOfBefore) {
  proc_[7] = "1000-2000 r-xp 00000000 08:01 5 /bin/old\n5000-7000 r-xp 00000000 08:01 5 /lib/b\n";
  now_ = 100;
  ProcessImages images(options());
  images.image_of(7, at(50));
  images.handle(mapping(7, 60, "/lib/b", 0x5000, 0x6000));
  images.handle(mapping(7, 70, "/lib/b", 0x6000, 0x7000));
  EXPECT_EQ(text(images.image_of(7, at(50))), "/bin/old 1000-2000@0");
  EXPECT_EQ(text(images.image_of(7, at(65))), "/bin/old 1000-2000@0, /lib/b 5000-6000@0");
  EXPECT_EQ(text(images.image_of(7, at(70))), "/bin/old 1000-2000@0, /lib/b 5000-7000@0");
}

TEST_F(ProcessImagesTest, AProcessThatChangesTooFastHasNoPast) {
  auto few = options();
  few.past_apart = Duration(50);
  few.max_past_mappings = 2;
  ProcessImages images(few);
  images.handle(exec(7, 20));
  for (unsigned i = 0; i < 6; ++i)
    images.handle(mapping(7, 100 + 20 * i, fmt::format("/lib/{}", i)));
  EXPECT_EQ(text(images.image_of(7, at(110))), "/lib/0 1000-2000@0");
  EXPECT_EQ(images.image_of(7, at(130)), nullptr) << "too soon";
  EXPECT_EQ(text(images.image_of(7, at(170))), "/lib/3 1000-2000@0");
  images.handle(mapping(7, 300, "/x", 0x5000, 0x6000));
  images.handle(mapping(7, 310, "/y", 0x7000, 0x8000));
  images.handle(mapping(7, 400, "/z", 0x7000, 0x8000));
  EXPECT_EQ(images.image_of(7, at(390)), nullptr) << "too much to copy";
}

TEST_F(ProcessImagesTest, AfterALossOnlyWhatWasThereBeforeAndBehindItIsKnown) {
  proc_[7] = "1000-2000 r-xp 00000000 08:01 5 /bin/old\n5000-6000 r-xp 00000000 08:01 5 /lib/a\n";
  ProcessImages images(options());
  images.image_of(7);
  proc_[7] = "1000-2000 r-xp 00000000 08:01 5 /bin/old\n5000-6000 r-xp 00000000 08:01 5 /lib/b\n";
  now_ = 30;
  images.handle({.kind = Kind::lost, .time = at(20), .lost_events = 3});
  EXPECT_EQ(text(images.image_of(7)), "/bin/old 1000-2000@0, /lib/b 5000-6000@0");
  EXPECT_EQ(text(images.image_of(7, at(25))), "/bin/old 1000-2000@0");
}

TEST_F(ProcessImagesTest, SoManyPastsAreKept) {
  auto bounded = options();
  bounded.max_past = 3;
  ProcessImages images(bounded);
  images.handle(exec(7, 20));
  for (unsigned i = 0; i < 6; ++i)
    images.handle(mapping(7, 30 + 10 * i, fmt::format("/lib/{}", i)));
  EXPECT_EQ(text(images.image_of(7, at(75))), "/lib/4 1000-2000@0");
  EXPECT_EQ(text(images.image_of(7, at(65))), "/lib/3 1000-2000@0");
  EXPECT_EQ(images.image_of(7, at(45)), nullptr) << "not known any more, and said to be";
}

TEST_F(ProcessImagesTest, EndedProcessesAreKeptForATime) {
  auto bounded = options();
  bounded.max_ended = 2;
  ProcessImages images(bounded);
  for (pid_t pid = 1; pid <= 4; ++pid) {
    images.handle(exec(pid, 20));
    images.handle(mapping(pid, 21, "/bin/x"));
  }
  for (pid_t pid = 1; pid <= 3; ++pid) images.handle(end(pid, 30));
  EXPECT_EQ(images.image_of(1), nullptr);
  EXPECT_NE(images.image_of(2), nullptr);
  auto late = end(4, 31);
  late.time += bounded.ended_kept;
  images.handle(late);
  EXPECT_EQ(images.image_of(2), nullptr);
  EXPECT_EQ(images.image_of(3), nullptr);
  EXPECT_NE(images.image_of(4), nullptr);
}

TEST_F(ProcessImagesTest, ItIsBounded) {
  auto bounded = options();
  bounded.max_processes = 10;
  bounded.max_mappings = 50;
  ProcessImages images(bounded);
  for (pid_t pid = 1; pid <= 100; ++pid) {
    images.handle(exec(pid, 20));
    for (std::uint64_t i = 1; i <= 20; ++i)
      images.handle(mapping(pid, 21, "/x", i << 12, (i + 1) << 12));
    EXPECT_LE(images.cost().mappings, 50u + 20);
    EXPECT_LE(images.cost().processes, 10u + 1);
  }
  EXPECT_NE(images.image_of(100), nullptr);
  EXPECT_EQ(images.image_of(1), nullptr);
}

TEST_F(ProcessImagesTest, OneProcessHasABoundToo) {
  ProcessImages images(options());
  images.handle(exec(7, 20));
  for (std::uint64_t i = 1; i <= ProcessImage::max_mappings + 10; ++i)
    images.handle(mapping(7, 21, "", i << 13, (i << 13) + 4096));
  EXPECT_EQ(images.image_of(7)->entries().size(), ProcessImage::max_mappings);
  EXPECT_TRUE(images.image_of(7)->is_cut());
}

TEST_F(ProcessImagesTest, FilesOfTargetsAreKept) {
  proc_[7] = old_maps;
  ProcessImages images(options());
  images.add_target(7);
  EXPECT_THAT(opened_, testing::ElementsAre("7:/bin/old"));
  images.handle(fork(7, 8, 20));
  images.handle(exec(8, 21));
  images.handle(mapping(8, 22, "/bin/gone"));
  images.handle(mapping(9, 22, "/bin/other"));
  EXPECT_THAT(opened_, testing::ElementsAre("7:/bin/old", "8:/bin/gone"));
  images.handle(end(8, 23));
  is_openable_ = false;
  const auto image = images.image_of(8);
  EXPECT_TRUE(images.open(*image, image->entries()[0].mapping, 8));
  EXPECT_EQ(opened_.size(), 2u);
}

TEST_F(ProcessImagesTest, NoMoreFilesThanAllowedAreKept) {
  auto bounded = options();
  bounded.max_kept_files = 3;
  ProcessImages images(bounded);
  images.add_target(7);
  images.handle(exec(7, 20));
  for (std::uint64_t i = 1; i <= 10; ++i)
    images.handle(mapping(7, 21, fmt::format("/{}", i), i << 12, (i + 1) << 12));
  EXPECT_EQ(images.cost().kept_files, 3u);
  is_openable_ = false;
  const auto image = images.image_of(7);
  EXPECT_FALSE(images.open(*image, image->entries()[0].mapping, 7));
  EXPECT_TRUE(images.open(*image, image->entries()[9].mapping, 7));
}

TEST_F(ProcessImagesTest, NonsenseDoesNoHarm) {
  ProcessImages images(options());
  images.handle(exec(-1, 20));
  images.handle(mapping(0, 20, "/x"));
  images.handle(exec(7, 20));
  images.handle(mapping(7, 21, "/x", 0x2000, 0x1000));
  images.handle(mapping(7, 22, std::string("/a\0b\n\x1b[31m", 10), 0x1000, ~std::uint64_t{0}));
  images.handle(end(99, 23));
  EXPECT_EQ(images.image_of(7)->entries().size(), 1u);
  EXPECT_EQ(images.cost().processes, 1u);
}

}  // namespace
}  // namespace overdue
