// A finding for the tests of sinks, and the text that a sink writes for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sinks/finding_sections.h"
#include "sinks/make_sink.h"

namespace overdue {

inline StackFrame in_kernel(std::string name, std::uint64_t offset = 0x10) {
  return {.name = std::move(name), .module = "[kernel]", .offset = offset, .is_kernel = true};
}
inline StackFrame in_program(std::string name) {
  return {.name = std::move(name), .module = "/bin/io-demo", .offset = 0x10};
}

/// io-demo creates a file and waits for the journal, as in docs.
inline Finding late_open() {
  Finding f;
  f.number = 1;
  f.span = "syscall";
  f.name = "openat";
  f.arguments = {"dirfd=AT_FDCWD", "pathname=\"/x\""};
  f.time = KernelTime(std::chrono::seconds(100));
  f.thread = {5786, 5786, "io-demo"};
  f.cpu = 1;
  f.latency_ns = 2'310'000'000;
  f.threshold_ns = 2'000'000'000;
  f.result = 7;
  f.breakdown = Breakdown{{ShareKind::oncpu, 8'000'000},
                          {ShareKind::runqueue, 12'000'000},
                          {ShareKind::uninterruptible, 2'290'000'000}};
  Wait wait{.ns = 2'302'000'000, .runqueue_ns = 12'000'000, .state = "uninterruptible"};
  wait.kernel_stack = {in_kernel("schedule"), in_kernel("jbd2_log_wait_commit"),
                       in_kernel("ext4_create"), in_kernel("do_syscall_64")};
  wait.waker = Waker{.thread = {203, 203, "jbd2/vda-8"},
                     .context = "thread",
                     .is_thread = true,
                     .stack = {in_kernel("wake_up")}};
  wait.ran.add({0, 71, "kworker/u4:1"}, 12'000'000);
  f.places = {{.state = wait.state,
               .ns = wait.ns,
               .count = 1,
               .kernel_stack = wait.kernel_stack,
               .blocked_ns = wait.blocked_ns(),
               .longest_ns = wait.ns}};
  f.waits = {wait};
  ChainLink link;
  link.thread = {203, 203, "jbd2/vda-8"};
  link.what = "waited";
  link.is_thread = true;
  link.ns = 2'270'000'000;
  link.kernel_stack = {in_kernel("schedule"), in_kernel("submit_bio_wait")};
  ChainLink root;
  root.what = "irq 24 virtio1-req.0";
  root.is_root = true;
  f.chain = {link, root};
  f.user_stack = Stack{in_program("openat"), in_program("create_files"), in_program("main"),
                       in_program("__libc_start_call_main"), in_program("_start")};
  f.cause = "syscall|openat|";
  return f;
}

/// late_open() with source lines, and with make_file() inlined into create_files().
inline Finding with_lines() {
  Finding f = late_open();
  Stack& stack = *f.user_stack;
  stack[0].module = "/lib/x86_64-linux-gnu/libc.so.6";
  stack[0].file = "open64.c";
  stack[0].line = 41;
  StackFrame library = in_program("std::invoke<int>");
  library.file = "/usr/include/c++/12/functional";
  library.line = 111;
  StackFrame own = in_program("make_file(int)");
  own.file = "/src/io_demo.cc";
  own.line = 17;
  library.is_inlined = own.is_inlined = true;
  library.offset = own.offset = 0;
  stack.insert(stack.begin() + 1, {library, own});
  stack[3].file = "/src/io_demo.cc";
  stack[3].line = 40;
  return f;
}

inline std::string written(std::string_view format, const Finding& finding,
                           const Repeats& repeats) {
  std::string text;
  Output output(text);
  const auto sink = make_sink(format, output, {.color = false, .stream = true});
  sink->begin(SessionInfo{});
  sink->section(std::make_shared<FindingSection>(finding));
  sink->section(std::make_shared<RepeatsSection>(repeats));
  sink->end(SessionInfo{}, Receipt{});
  output.flush();
  return text;
}

inline const Repeats many{.number = 3,
                          .name = "fsync",
                          .count = 1234,
                          .latency_ns = 5'000'000'000,
                          .longest_ns = 9'000'000};

}  // namespace overdue
