#include "probes/pairs/compile.h"

#include <asm/ptrace.h>

#include <cstddef>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/pairs/fake_kernel.h"

namespace overdue {
namespace {

using ::testing::HasSubstr;

/// A task (the current one) and its request in the fake kernel's memory, the text "a task's name"
/// there, and another text in user memory.
class Compiling : public ::testing::Test {
 protected:
  void SetUp() override {
    auto& kernel = memory.kernel;
    memory.put(kernel, 0, s32{-5});
    memory.put(kernel, 4, u32{0b10110'101});  // bits: 5; signed_bits: -10
    memory.put(kernel, 8, address_of(64));
    std::memcpy(kernel.data() + 16, "worker-1", 8);
    memory.put(kernel, 32, u64{0xff00000000000201});
    memory.put(kernel, 40, address_of(128));
    memory.put(kernel, 64, u32{0xfffffff0});
    memory.put(kernel, 72, u64{0});
    for (std::size_t i = 0; i < 3; ++i) memory.put(kernel, 80 + 2 * i, static_cast<u16>(100 + i));
    std::memcpy(kernel.data() + 128, "a task's name", 14);
    std::memcpy(memory.user.data(), "from user space", 16);
    memory.context = {address_of(0), 0xdead'ffff'fffe, 1ull << 63};
  }

  u64 address_of(std::size_t at) const { return reinterpret_cast<u64>(memory.kernel.data() + at); }

  plan_values run(const std::string& expression, const EventFields& of) {
    const PairSpec pair = parse_pair("x=begin:a:b,end:a:c,key:" + expression);
    return run_plan(compile_side(pair, pair.begin, pair.begin.events[0], of, types), memory);
  }
  u64 value(const std::string& expression) {
    const plan_values values = run(expression, fields);
    EXPECT_EQ(values.unread, 0u) << expression;
    return values.result[PLAN_KEY];
  }
  std::string failure_of(const std::string& expression, const EventFields& of) {
    try {
      run(expression, of);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), 2);
      return fmt::format("{} | {}", error.what(), error.hint());
    }
    return "no error";
  }
  std::string failure_of(const std::string& expression) { return failure_of(expression, fields); }

  FakeMemory memory;
  const KernelTypes types = fake_types();
  EventFields fields = fake_tracepoint(types);
};

TEST_F(Compiling, ComputesAsC) {
  for (const auto& [expression, expected] : std::map<std::string, s64>{
           {"1 + 2 - 5", -2},
           {"6 & 3 | 8 ^ 1", 11},
           {"1 << 4 >> 2", 4},
           {"-8 >> 1", -4},
           {"~0", -1},
           {"!0 + !7", 1},
           {"3 > 2", 1},
           {"2 > 3", 0},
           {"3 >= 3 && 3 <= 3", 1},
           {"-1 < 0", 1},
           {"1 != 1 || 0", 0},
           {"18446744073709551615 > 0", 1},
           {"u8(257) + s8(255) + u16(65537)", 1},
           {"s32(4294967295)", -1},
           {"u32(-1) == 4294967295", 1},
           {"REQ_OP_WRITE + REQ_OP_READ", 1},
       })
    EXPECT_EQ(static_cast<s64>(value(expression)), expected) << expression;
}

TEST_F(Compiling, ReadsFieldsBySizeAndSign) {
  EXPECT_EQ(value("tid"), 101u);
  EXPECT_EQ(value("pid << 8 | cpu"), 100u << 8 | 3);
  EXPECT_EQ(static_cast<s64>(value("number")), -2) << "the upper half is none of its";
  EXPECT_EQ(value("number < 0"), 1u);
  EXPECT_EQ(value("big > 0"), 1u) << "unsigned";
  EXPECT_EQ(value("big >> 63"), 1u);
  EXPECT_EQ(value("event.number"), value("number"));
  EXPECT_EQ(static_cast<s64>(value("task->pid")), -5);
  EXPECT_EQ(value("task.pid == current->pid"), 1u) << ". and -> are the same";
  EXPECT_EQ(value("task->rq->__data_len"), 0xfffffff0u);
  EXPECT_EQ(value("task->rq->lens[2]"), 102u);
  EXPECT_EQ(value("task->wide"), 0xff00000000000201u) << "through the unnamed union";
  EXPECT_EQ(value("task->bytes[1]"), 2u);
  EXPECT_EQ(value("task->name[0]"), u64{'a'}) << "through a pointer";
  EXPECT_EQ(value("task->comm[6]"), u64{'-'});
  EXPECT_EQ(value("read_u32(task->rq)"), 0xfffffff0u);
}

TEST_F(Compiling, ReadsBitFields) {
  EXPECT_EQ(value("task->bits"), 5u);
  EXPECT_EQ(static_cast<s64>(value("task->signed_bits")), -10);
}

TEST_F(Compiling, ComparesText) {
  EXPECT_EQ(value("comm == \"worker-1\""), 1u);
  EXPECT_EQ(value("comm != \"worker-1\""), 0u);
  EXPECT_EQ(value("\"worker-1\" == task->comm"), 1u);
  for (const char* other : {"", "w", "worker-", "worker-2", "worker-10", "worker-1 and"})
    EXPECT_EQ(value(fmt::format("comm == \"{}\"", other)), 0u) << other;
  EXPECT_EQ(value("task->name == \"a task's name\""), 1u);
  EXPECT_EQ(value("task->name == \"a task's nam\""), 0u);
  memory.put(memory.kernel, 16, u64{0});
  EXPECT_EQ(value("comm == \"\""), 1u);
}

TEST_F(Compiling, TextOfSixteenBytesHasNoEnd) {
  std::memcpy(memory.kernel.data() + 16, "0123456789abcdef", 16);
  EXPECT_EQ(value("comm == \"0123456789abcdef\""), 1u);
  EXPECT_EQ(value("comm == \"0123456789abcde\""), 0u);
  EXPECT_THAT(failure_of("comm == \"0123456789abcdefg\""),
              HasSubstr("this is 17 bytes long, there is room for 16 only"));
}

TEST_F(Compiling, ArgumentsOfUsdtProbesAreWhereTheirNoteSays) {
  const auto address = reinterpret_cast<u64>(memory.user.data());
  memory.context[offsetof(pt_regs, rax) / 8] = 0x1122334455667788;
  memory.context[offsetof(pt_regs, rcx) / 8] = 0xfffffff9;  // -7 of 32 bits
  memory.context[offsetof(pt_regs, rbp) / 8] = address + 16;
  memory.context[offsetof(pt_regs, r12) / 8] = 3;
  memory.user[8] = std::byte{0xfe};
  memory.user[9] = std::byte{0xff};
  memory.user[28] = std::byte{77};
  const EventFields user =
      user_fields(EventSpec::Kind::usdt,
                  parse_usdt_arguments("8@%rax 4@%eax 2@%ax -4@%ecx -4@$-9 -2@-8(%rbp) 2@-8(%rbp) "
                                       "1@0(%rbp,%r12,4) 8@(%r12) 8@%xmm0 8@counter(%rip)"));
  const auto value_of = [&](const std::string& expression) {
    const plan_values values = run(expression, user);
    EXPECT_EQ(values.unread, 0u) << expression;
    return static_cast<s64>(values.result[PLAN_KEY]);
  };
  EXPECT_EQ(value_of("arg0"), 0x1122334455667788);
  EXPECT_EQ(value_of("arg1"), 0x55667788);
  EXPECT_EQ(value_of("arg2"), 0x7788);
  EXPECT_EQ(value_of("arg3"), -7);
  EXPECT_EQ(value_of("arg4"), -9);
  EXPECT_EQ(value_of("arg5"), -2);
  EXPECT_EQ(value_of("arg6"), 0xfffe);
  EXPECT_EQ(value_of("arg7"), 77);
  EXPECT_NE(run("arg8", user).unread, 0u) << "nothing is at address 3";
  EXPECT_THROW(run("arg9", user), Error);
  EXPECT_THROW(run("arg10", user), Error);
  EXPECT_THROW(run("arg11", user), Error) << "there is none";
}

TEST_F(Compiling, NumbersOfUserFunctionsMayBeAddressesOfText) {
  const EventFields user =
      user_fields(EventSpec::Kind::usdt, parse_usdt_arguments("8@$1 8@%rdi 8@$2"));
  memory.context[offsetof(pt_regs, rdi) / 8] = reinterpret_cast<u64>(memory.user.data());
  EXPECT_EQ(run("arg1 == \"from user space\"", user).result[PLAN_KEY], 1u);
  EXPECT_EQ(run("arg1 == \"from user spac\"", user).result[PLAN_KEY], 0u);
  EXPECT_EQ(run("read_u8(arg1 + 5)", user).result[PLAN_KEY], u64{'u'});
  EXPECT_NE(run("read_u8(arg2)", user).unread, 0u);
  EXPECT_EQ(run("event.arg1 == arg1", user).result[PLAN_KEY], 1u);
}

TEST_F(Compiling, WhatCannotBeReadSpoilsOnlyWhatDependsOnIt) {
  const auto unread = [&](const std::string& expression) {
    return run(expression, fields).unread != 0;
  };
  EXPECT_TRUE(unread("task->rq->task->pid")) << "a null pointer";
  EXPECT_TRUE(unread("task->rq->task->pid + 1 == 1"));
  EXPECT_TRUE(unread("!task->rq->task->pid"));
  EXPECT_TRUE(unread("task->rq->task->comm == \"x\""));
  EXPECT_FALSE(unread("task->rq->task && task->rq->task->pid == 3"));
  EXPECT_FALSE(unread("task->rq->task->pid == 3 && 0"));
  EXPECT_FALSE(unread("task->rq->task == 0 || task->rq->task->pid == 3"));
  EXPECT_TRUE(unread("1 && task->rq->task->pid"));
  EXPECT_TRUE(unread("0 || task->rq->task->pid"));
  EXPECT_EQ(value("task->rq->task && task->rq->task->pid == 3"), 0u);
  EXPECT_EQ(value("task->rq->task == 0 || task->rq->task->pid == 3"), 1u);
}

TEST_F(Compiling, TheFirstTermOfAFilterThatFailsEndsThePlan) {
  const auto run_filter = [&](const std::string& filter) {
    const PairSpec pair = parse_pair("x=begin:a:b,end:a:c,key:tid,filter:" + filter);
    return run_plan(compile_side(pair, pair.begin, pair.begin.events[0], fields, types), memory);
  };
  const std::string unknown = "task->rq->task->pid";
  EXPECT_EQ(run_filter("0 && " + unknown).unread, 0u);
  EXPECT_EQ(run_filter("0 && 1").result[PLAN_KEY], 0u) << "the key is not computed";
  for (const std::string& filter : {unknown + " && 0", "1 && (" + unknown + " && 0)"}) {
    EXPECT_EQ(run_filter(filter).unread, 0u) << filter;
    EXPECT_EQ(run_filter(filter).result[PLAN_FILTER], 0u) << filter;
  }
  EXPECT_EQ(run_filter(unknown + " && 1").unread, 1u << PLAN_FILTER);
  const plan_values passed = run_filter("2 && task->pid == -5 && (0 || 4)");
  EXPECT_EQ(passed.result[PLAN_FILTER], 1u);
  EXPECT_EQ(passed.result[PLAN_KEY], 101u);
  EXPECT_EQ(passed.unread, 0u);
}

TEST_F(Compiling, KnownTurnsWhatCannotBeReadInto0) {
  EXPECT_EQ(value("known(task->rq->task->pid)"), 0u);
  EXPECT_EQ(value("known(task->rq->task->pid) == 0 && known(tid) == 101"), 1u);
  EXPECT_EQ(value("known(number)"), value("number"));
}

TEST_F(Compiling, HasTwoKeysAndAFilter) {
  const PairSpec pair =
      parse_pair("x=begin:a:b,end:a:c,key:tid;number,filter:task->pid == -5,end-filter:cpu == 4");
  const plan_values begin =
      run_plan(compile_side(pair, pair.begin, pair.begin.events[0], fields, types), memory);
  EXPECT_EQ(begin.result[PLAN_KEY], 101u);
  EXPECT_EQ(static_cast<s64>(begin.result[PLAN_SECOND_KEY]), -2);
  EXPECT_EQ(begin.result[PLAN_FILTER], 1u);
  const plan_values end =
      run_plan(compile_side(pair, pair.end, pair.end.events[0], fields, types), memory);
  EXPECT_EQ(end.result[PLAN_FILTER], 0u);
}

TEST_F(Compiling, SaysWhatIsWrongAndWhatThereIs) {
  for (const auto& [expression, message] : std::map<std::string, std::string>{
           {"tsk->pid",
            "a:b has no field `tsk`; `task`? | it has pid, tid, cpu, comm, current, "
            "user_regs, task, number, big"},
           {"task->pit",
            "struct task_struct has no member `pit`; `pid`? | struct task_struct has "
            "pid, bits, signed_bits, rq, comm, wide, bytes, name"},
           {"event.nope", "has no field `nope`"},
           {"number->pid", "what is before this is a number of 4 bytes: it has no members"},
           {"number[1]", "neither an array nor a pointer"},
           {"task->comm[16]", "there are only 16 of them"},
           {"task[0]", "this is struct task_struct, not a number: name a member of it"},
           {"comm", "this is an array, not a number | compare it with \"text\""},
           {"\"text\"", "text can be compared with == and != only"},
           {"comm < \"a\"", "text can be compared with == and != only"},
           {"\"a\" == \"a\"", "two texts are the same or not"},
           {"number == \"a\"", "this is a number of 4 bytes, and no text"},
           {"task == \"a\"", "this is a pointer to struct task_struct, and no text"},
           {"1-(1-(1-(1-(1-(1-(1-(1-(1-1))))))))", "too many values are waiting"},
       })
    EXPECT_THAT(failure_of(expression), HasSubstr(message)) << expression;
  std::string sum = "1";
  for (int i = 0; i < PLAN_STEPS / 2; ++i) sum += "+1";
  EXPECT_THAT(failure_of(sum), HasSubstr("too long for the kernel side"));
  EXPECT_THAT(failure_of("arg0", user_fields(EventSpec::Kind::uretprobe)),
              HasSubstr("a function's arguments are gone when it returns"));
  EXPECT_THAT(failure_of("ret", user_fields(EventSpec::Kind::uprobe)),
              HasSubstr("the result is known at its uretprobe only"));
}

TEST(EventFields, AreReadFromAFormatFile) {
  const EventFields fields = fields_of_format(
      "name: sched_process_exec\nID: 1\nformat:\n"
      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
      "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
      "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
      "\tfield:char prev_comm[16];\toffset:16;\tsize:16;\tsigned:0;\n"
      "\tfield:const char * path;\toffset:32;\tsize:8;\tsigned:0;\n"
      "\tfield:void *skaddr;\toffset:40;\tsize:8;\tsigned:0;\n"
      "\tfield:struct timespec64 when;\toffset:48;\tsize:12;\tsigned:0;\n"
      "\tfield:broken;\toffset:x;\tsize:4;\n\tfield:;offset:1;size:1;\n",
      PLAN_USER);
  ASSERT_EQ(fields.all.size(), 6u);
  EXPECT_EQ(fields.all[0].name, "filename");
  EXPECT_EQ(fields.all[0].source, EventField::Source::dynamic);
  EXPECT_TRUE(fields.all[0].type.is_text);
  ASSERT_NE(fields.find("pid"), nullptr);
  EXPECT_TRUE(fields.find("pid")->type.is_signed);
  EXPECT_EQ(fields.find("pid")->where, 12u);
  EXPECT_EQ(fields.find("prev_comm")->type.kind, Type::Kind::array);
  EXPECT_EQ(fields.find("prev_comm")->type.size, 16u);
  EXPECT_TRUE(fields.find("path")->type.is_text);
  EXPECT_EQ(fields.find("path")->type.memory, PLAN_USER);
  EXPECT_EQ(fields.find("skaddr")->type.kind, Type::Kind::pointer);
  EXPECT_EQ(fields.find("when")->type.kind, Type::Kind::other);
}

TEST_F(Compiling, TextOfVariableLengthIsWhereTheEventSays) {
  const EventFields flat = fields_of_format(
      "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
      "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n",
      PLAN_KERNEL);
  memory.context[1] = u64{77} << 32 | 9 << 16 | 24;
  std::memcpy(&memory.context[3], "/bin/true", 10);
  EXPECT_EQ(run("filename == \"/bin/true\"", flat).result[PLAN_KEY], 1u);
  EXPECT_EQ(run("filename == \"/bin/tru\"", flat).result[PLAN_KEY], 0u);
  EXPECT_EQ(run("filename[1]", flat).result[PLAN_KEY], u64{'b'});
  EXPECT_EQ(run("pid", flat).result[PLAN_KEY], 100u) << "the built-in";
  EXPECT_EQ(run("event.pid", flat).result[PLAN_KEY], 77u);
}

}  // namespace
}  // namespace overdue
