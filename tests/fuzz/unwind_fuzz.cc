// Any bytes, as an ELF file whose code is on a stack, or as a section .eh_frame alone; the stack is
// the input too. No crash, no leak, bounded time, rows that contain the requested address.

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "unwind/unwinder.h"

namespace overdue {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::uint64_t loaded_at = 0x10000000;
constexpr std::uint64_t stack_at = 0x7ffc00000000;

void look_up(const CfiTable& table, std::uint64_t address) {
  const auto row = table.find(address);
  if (!row) return;
  require(row->begin <= address && address < row->end);
  for (const CfiRule& rule : row->rules) table.expression(rule);
}

void read_section(std::span<const std::byte> input) {
  const CfiTable table = CfiTable::of_section({input.begin(), input.end()}, 0x1000);
  for (std::size_t at = 0; at + 8 <= input.size() && at < 2048; at += 4) {
    std::uint64_t address;
    std::memcpy(&address, input.data() + at, sizeof address);
    look_up(table, address);
    look_up(table, address & 0xffffffff);
    look_up(table, 0x1000 + at + (address & 0xffffffff));
  }
}

void unwind(std::span<const std::byte> input) {
  Unwinder unwinder({.limits = {.section_bytes = 1u << 20, .functions = 1u << 16},
                     .open_mapped =
                         [&](pid_t, const Mapping&) {
                           Fd file(memfd_create("mapped", MFD_CLOEXEC));
                           require(write(file.get(), input.data(), input.size()) ==
                                   static_cast<ssize_t>(input.size()));
                           return file;
                         },
                     .read_vdso = {}});
  ProcessMaps maps;
  maps.add({.start = loaded_at,
            .end = loaded_at + 0x100000,
            .inode = 1,
            .is_executable = true,
            .path = "/file"});
  AddressSpace space(getpid(), std::move(maps));
  std::uint64_t first = 0;
  std::memcpy(&first, input.data() + input.size() / 2, std::min<std::size_t>(input.size() / 2, 8));
  StackSnapshot snapshot{.stack = StackCopy({{.address = stack_at, .bytes = input}})};
  for (std::size_t i = 0; i < register_count; ++i)
    snapshot.registers.set(Register(i), stack_at + i * 8);
  for (const std::uint64_t offset : {first & 0xfffff, std::uint64_t{0x1000}, std::uint64_t{0}}) {
    snapshot.registers.set(Register::rip, loaded_at + offset);
    const UnwoundStack stack = unwinder.unwind(space, snapshot);
    require(!stack.frames.empty() && stack.frames.size() <= 512);
    require(!to_text(stack.end).empty());
  }
  walk_frame_pointers(space, snapshot);
}

}  // namespace
}  // namespace overdue

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  if (size < 16) return 0;
  if (std::memcmp(data,
                  "\x7f"
                  "ELF",
                  4) == 0)
    overdue::unwind(input);
  else
    overdue::read_section(input);
  return 0;
}
