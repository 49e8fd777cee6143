#pragma once

#include <bpf/btf.h>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "probes/pairs/compile.h"

// A kernel of a few types, and memory in which the stack machine runs as it does in BPF. For tests
// and fuzzing.
namespace overdue {

/// The event's own bytes, then the "kernel" and the "user" memory that addresses point into: each
/// byte is also readable by its real address.
struct FakeMemory {
  std::array<std::uint64_t, 21> context{};  // as many as there are registers
  std::array<std::byte, 256> kernel{};
  std::array<std::byte, 64> user{};
  std::uint64_t pid = 100, tid = 101, cpu = 3;

  template <typename T>
  void put(std::array<std::byte, 256>& memory, std::size_t at, T value) {
    std::memcpy(memory.data() + at, &value, sizeof value);
  }
};

inline FakeMemory* fake_memory = nullptr;

inline u64 plan_read(const plan_step* step, u64 address, u64* value) {
  const auto inside = [&](const auto& memory) {
    const auto begin = reinterpret_cast<u64>(memory.data());
    return address >= begin && address - begin + step->size <= sizeof memory;
  };
  *value = 0;
  const bool known = step->memory == PLAN_USER
                         ? inside(fake_memory->user)
                         : inside(fake_memory->kernel) || inside(fake_memory->context);
  if (!known) return 1;
  std::memcpy(value, reinterpret_cast<const void*>(address), step->size);
  return 0;
}

inline u64 plan_builtin_value(u64 which) {
  switch (which) {
    case PLAN_PID:
      return fake_memory->pid;
    case PLAN_TID:
      return fake_memory->tid;
    case PLAN_CPU:
      return fake_memory->cpu;
    default:
      return reinterpret_cast<u64>(fake_memory->kernel.data());  // the current task
  }
}

// Included here because it calls the functions above.
#include "probes/pairs/plan_run.h"

inline plan_values run_plan(const plan& steps, FakeMemory& memory) {
  fake_memory = &memory;
  plan_values values{};
  plan_run(&steps, memory.context.data(), &values);
  return values;
}

/// struct task_struct { int pid; unsigned bits : 3; int signed_bits : 5; struct request* rq;
///   char comm[16]; union { u64 wide; u8 bytes[8]; }; const char* name; };
/// struct request { unsigned __data_len; struct task_struct* task; unsigned short lens[3]; };
/// enum req_op { REQ_OP_READ, REQ_OP_WRITE };
inline KernelTypes fake_types() {
  struct btf* types = btf__new_empty();
  const int int_type = btf__add_int(types, "int", 4, BTF_INT_SIGNED);
  const int unsigned_type = btf__add_int(types, "unsigned int", 4, 0);
  const int short_type = btf__add_int(types, "unsigned short", 2, 0);
  const int u64_type = btf__add_int(types, "u64", 8, 0);
  const int u8_type = btf__add_int(types, "unsigned char", 1, 0);
  const int char_type = btf__add_int(types, "char", 1, BTF_INT_SIGNED);
  const int name_type = btf__add_ptr(types, btf__add_const(types, char_type));
  const int comm_type = btf__add_array(types, int_type, char_type, 16);
  const int bytes_type = btf__add_array(types, int_type, u8_type, 8);
  const int lens_type = btf__add_array(types, int_type, short_type, 3);
  const int either = btf__add_union(types, nullptr, 8);
  btf__add_field(types, "wide", u64_type, 0, 0);
  btf__add_field(types, "bytes", bytes_type, 0, 0);
  // Ids are given in order: task_struct becomes `either` + 3, and request `either` + 4.
  const int request_pointer = btf__add_ptr(types, either + 4);
  const int task_pointer = btf__add_ptr(types, either + 3);
  btf__add_struct(types, "task_struct", 64);
  btf__add_field(types, "pid", int_type, 0, 0);
  btf__add_field(types, "bits", unsigned_type, 32, 3);
  btf__add_field(types, "signed_bits", int_type, 35, 5);
  btf__add_field(types, "rq", request_pointer, 64, 0);
  btf__add_field(types, "comm", comm_type, 128, 0);
  btf__add_field(types, "", either, 256, 0);
  btf__add_field(types, "name", name_type, 320, 0);
  btf__add_struct(types, "request", 32);
  btf__add_field(types, "__data_len", unsigned_type, 0, 0);
  btf__add_field(types, "task", task_pointer, 64, 0);
  btf__add_field(types, "lens", lens_type, 128, 0);
  btf__add_enum(types, "req_op", 4);
  btf__add_enum_value(types, "REQ_OP_READ", 0);
  btf__add_enum_value(types, "REQ_OP_WRITE", 1);
  return KernelTypes(std::shared_ptr<btf>(types, btf__free));
}

/// A tracepoint's (struct task_struct* task, int number, u64 big).
inline EventFields fake_tracepoint(const KernelTypes& types) {
  const std::optional<Type> task = types.record("task_struct");
  return fields_of(
      {{"task", {.kind = Type::Kind::pointer, .size = 8, .inner = task ? task->id : 0}},
       {"number", {.size = 4, .is_signed = true}},
       {"big", {.size = 8}}});
}

}  // namespace overdue
