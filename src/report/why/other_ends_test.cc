#include "report/why/other_ends.h"

#include <gtest/gtest.h>

namespace overdue::other_ends_test {
namespace {

Finding on_pipe(const char* call) {
  Finding finding;
  finding.span = "syscall";
  finding.name = call;
  finding.thread = {10, 11, "app"};
  finding.object = CallObject{.kind = "pipe", .text = "pipe 81"};
  return finding;
}

TEST(OtherEnds, AreOfPipesAndOfClients) {
  const auto write = awaited_end(on_pipe("write")), read = awaited_end(on_pipe("read"));
  ASSERT_TRUE(write && read);
  EXPECT_TRUE(write->writes);
  EXPECT_FALSE(read->writes);
  EXPECT_EQ(write->pid, 10u);
  Finding server = on_pipe("recvfrom");
  server.object = CallObject{.kind = "socket", .text = "tcp a->b", .side = "server"};
  EXPECT_FALSE(awaited_end(server));
  server.object->side = "client";
  EXPECT_TRUE(awaited_end(server));
  Finding shown = on_pipe("write");
  shown.object = CallObject{.kind = "other", .text = "/dev/pts/3"};
  EXPECT_TRUE(awaited_end(shown));
  shown.name = "read";
  EXPECT_FALSE(awaited_end(shown)) << "who reads from a terminal waits for a person";
  Finding stopped = on_pipe("read");
  stopped.type = "hang";
  stopped.kernel_stack = {{.name = "do_signal_stop", .module = "[kernel]", .is_kernel = true}};
  EXPECT_FALSE(awaited_end(stopped)) << "it waits for no other process";
  server.object = CallObject{.kind = "file", .text = "/x"};
  EXPECT_FALSE(awaited_end(server));
}

TEST(OtherEnds, AreTheProgramsThatServePaths) {
  Finding finding = on_pipe("openat");
  finding.type = "hang";
  finding.object.reset();
  finding.arguments = {"dirfd=AT_FDCWD", "pathname=\"/srv/net/data\"", "flags=O_RDONLY"};
  EXPECT_FALSE(awaited_end(finding)) << "it does not wait for such a program";
  finding.kernel_stack = {{.name = "request_wait_answer", .module = "[kernel]", .is_kernel = true},
                          {.name = "fuse_lookup_name", .module = "[kernel]", .is_kernel = true}};
  const auto end = awaited_end(finding);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->object.kind, served_path);
  EXPECT_EQ(end->object.text, "/srv/net/data");
  finding.arguments[1] = "pathname=\"data\"";
  EXPECT_FALSE(awaited_end(finding)) << "the folder that it begins in is not known";
  finding.object = CallObject{.kind = "file", .text = "/srv/net/more"};
  const auto opened = awaited_end(finding);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->object.text, "/srv/net/more");
}

TEST(OtherEnds, AreNamedWhereNothingElseIs) {
  const std::vector<OtherEnd> ends = {{"pipe 81", {7, 7, "viewer"}, true},
                                      {"pipe 82", {8, 8, "x"}}};
  WhyCause cause{.cause = "room in a pipe", .total_ns = 5, .example = on_pipe("write")};
  name_other_ends(cause, ends);
  EXPECT_EQ(cause.cause, "room in a pipe; at the other end: viewer[7], which is stopped");
  ASSERT_EQ(cause.by.size(), 1u);
  EXPECT_EQ(cause.by[0].name, "viewer[7]");
  WhyCause known{.cause = "c", .by = {{"holder", 1, 5}}, .example = on_pipe("write")};
  name_other_ends(known, ends);
  EXPECT_EQ(known.cause, "c");
  WhyCause chained{.cause = "room", .example = on_pipe("write"), .waiters = {7, 11}};
  name_other_ends(chained, {{"pipe 81", {7, 7, "tee"}}});
  EXPECT_EQ(chained.cause, "room; at the other end: tee[7], which waits in the same way");
  EXPECT_TRUE(chained.by.empty()) << "it is no root";
}

TEST(OtherEnds, OfAnAnswerIsTheThreadThatAnswered) {
  Finding answer;
  answer.span = "unix_answer";
  answer.ended_by = ThreadName{9, 9, "shop"};
  WhyCause cause{.cause = "answer of unix /run/x", .total_ns = 5, .example = answer};
  name_other_ends(cause, {});
  EXPECT_EQ(cause.cause, "answer of unix /run/x; at the other end: shop[9]");
  ASSERT_EQ(cause.by.size(), 1u);
  EXPECT_EQ(cause.by[0].name, "shop[9]");
}

TEST(OtherEnds, ComeBackFromARecording) {
  SessionInfo info;
  keep_other_ends({{"unix /run/x", {7, 7, "oracle\n"}, true}}, info);
  const std::vector<OtherEnd> kept = kept_other_ends(info);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].object, "unix /run/x");
  EXPECT_EQ(kept[0].process.pid, 7u);
  EXPECT_TRUE(kept[0].is_stopped);
  info.options["other_ends"] = "many";
  EXPECT_TRUE(kept_other_ends(info).empty());
}

}  // namespace
}  // namespace overdue::other_ends_test
