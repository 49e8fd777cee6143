#include "report/why/disk_uses.h"

#include <gtest/gtest.h>

#include <cstring>

#include "probes/disks/probe.h"

namespace overdue::disk_uses_test {
namespace {

void add(DiskUses& uses, const char* comm, std::uint32_t pid, std::uint64_t ns,
         std::uint64_t bytes = 4096) {
  disk_use raw{};
  raw.header.pid = pid;
  std::strncpy(raw.header.comm, comm, sizeof raw.header.comm - 1);
  std::strncpy(raw.disk, "vda", sizeof raw.disk - 1);
  raw.requests = 1000;
  raw.data_bytes = bytes;
  raw.device_ns = ns;
  uses.add({&disk_use_schema, std::as_bytes(std::span(&raw, 1))});
}

WhyCause waits_for(const char* cause, std::vector<WhyName> by = {}) {
  return {.cause = cause, .who = {{"db[7]", 1, 100}}, .by = std::move(by)};
}

TEST(DiskUses, AddUpByName) {
  DiskUses uses;
  add(uses, "kworker/1:2", 5, 10);
  add(uses, "kworker/2:1", 6, 10);
  add(uses, "kworker/3:1", 7, 5);
  add(uses, "kworker/4:1", 8, 5);
  add(uses, "fio", 9, 70);
  const auto all = uses.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].comm, "fio");
  EXPECT_EQ(all[0].pid, 9u);
  EXPECT_DOUBLE_EQ(all[0].share(), 0.7);
  EXPECT_EQ(all[1].comm, "kworker/*:*");
  EXPECT_EQ(all[1].pid, 0u);
  EXPECT_EQ(all[1].device_ns, 30u);
  EXPECT_EQ(all[1].requests, 4000u);
}

TEST(DiskUses, NameWhoElseUsesTheDisk) {
  DiskUses uses;
  add(uses, "fio", 9, 70);
  add(uses, "db", 7, 30);
  WhyCause cause = waits_for("disk vda: fsync in flush", {{"disk vda", 1, 100}});
  name_disk_users(cause, uses.all());
  EXPECT_EQ(cause.cause,
            "disk vda: fsync in flush; meanwhile vda worked for fio[9] 70 % (4.0 KB in 1,000 "
            "requests)");
  WhyCause unnamed = waits_for("disk: page faults");
  name_disk_users(unnamed, uses.all());
  EXPECT_NE(unnamed.cause.find("fio[9] 70 %"), std::string::npos);
}

TEST(DiskUses, KeepFewProcessesApart) {
  DiskUses uses;
  add(uses, "db", 7, 20);
  add(uses, "db", 8, 80);
  WhyCause cause = waits_for("disk vda: fsync", {{"disk vda", 1, 100}});
  name_disk_users(cause, uses.all());
  EXPECT_NE(cause.cause.find("db[8] 80 %"), std::string::npos) << cause.cause;
  EXPECT_EQ(cause.cause.find("db[7]"), std::string::npos) << cause.cause;
}

TEST(DiskUses, BlameNobodyWhileTheDiskIsIdle) {
  DiskUses uses;
  add(uses, "fio", 9, 9);
  WhyCause cause = waits_for("disk vda: fsync", {{"disk vda", 1, 100}});
  cause.total_ns = 200;
  cause.waiters = {7, 8};
  name_disk_users(cause, uses.all());
  EXPECT_TRUE(cause.cause.starts_with("disk vda: fsync; vda worked for 9")) << cause.cause;
  EXPECT_EQ(cause.cause.find("fio"), std::string::npos);
}

TEST(DiskUses, NameTheLimitOfTheWaitingProcessWhileTheDiskIsIdle) {
  DiskUses uses;
  add(uses, "db", 7, 9);
  WhyCause cause = waits_for("disk vda: fsync", {{"disk vda", 1, 100}});
  cause.total_ns = 100;
  cause.example = Finding{};
  cause.example->thread.pid = 7;
  const auto text = [&](std::uint32_t pid, const char* words) {
    WhyCause named = cause;
    name_disk_users(named, uses.all(), {{.id = pid, .words = words}});
    return named.cause.substr(named.cause.rfind("as by"));
  };
  EXPECT_EQ(text(7, "vda: the limit of cgroup /a"), "as by the limit of cgroup /a");
  EXPECT_EQ(text(8, "vda: the limit of cgroup /a"), "as by a limit of a cgroup");
  EXPECT_EQ(text(7, "sda: the limit of cgroup /a"), "as by a limit of a cgroup");
}

TEST(DiskUses, AWorkerThatIssuesTheFlushesOfOthersIsNoUser) {
  DiskUses uses;
  add(uses, "kworker/1:1H", 44, 90, 0);
  add(uses, "fio", 9, 10);
  WhyCause cause = waits_for("disk vda: fsync", {{"disk vda", 1, 100}});
  const std::string before = cause.cause;
  name_disk_users(cause, uses.all());
  EXPECT_EQ(cause.cause, before);
}

TEST(DiskUses, NameWhoseDataAWorkerWrites) {
  DiskUses uses;
  add(uses, "kworker/u8:2", 44, 90, 1 << 20);
  add(uses, "db", 7, 10);
  const std::vector<Remark> writers = {{.id = 9, .words = "tar[9] (2.0 MB)"}};
  for (WhyCause cause : {waits_for("disk vda: fsync", {{"disk vda", 1, 100}}),
                         waits_for("writeback of dirty pages: write(/x)")}) {
    name_disk_users(cause, uses.all(), {}, writers);
    EXPECT_TRUE(cause.cause.ends_with("(1.0 MB in 1,000 requests): data of tar[9] (2.0 MB)"))
        << cause.cause;
  }
  DiskUses direct;
  add(direct, "fio", 45, 90, 1 << 20);
  WhyCause cause = waits_for("disk vda: fsync", {{"disk vda", 1, 100}});
  name_disk_users(cause, direct.all(), {}, writers);
  EXPECT_EQ(cause.cause.find("tar"), std::string::npos) << "no data of files";
}

TEST(DiskUses, DoNotBlameTheInnocent) {
  DiskUses uses;
  add(uses, "db", 7, 95);
  add(uses, "cron", 9, 5);
  for (WhyCause cause :
       {waits_for("disk vda: fsync", {{"disk vda", 1, 100}}),
        waits_for("disk sdb: fsync", {{"disk sdb", 1, 100}}), waits_for("futex behind holder")}) {
    const std::string before = cause.cause;
    name_disk_users(cause, uses.all());
    EXPECT_EQ(cause.cause, before);
  }
}

}  // namespace
}  // namespace overdue::disk_uses_test
