/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the kernel's table of system calls, once, when user space runs find_syscalls(): the only
 * source for the name of a call that is newer than our headers. Nothing is attached. */
#include "bpf/kernel.h"

#include "kernel/syscall_table_wire.h"

const volatile u32 scan_pages; /* pages to search if the table has no symbol */
const volatile char
    leading_names[4][SYMBOL_SIZE];   /* symbols of calls 0 to 3, to recognise the table by */
const volatile u32 leading_sizes[4]; /* their lengths with the NUL */

u64 table; /* address; 0: not found */
struct syscall_symbol symbols[SYSCALLS_MAX];

#define PAGE_BYTES 4096
#define PAGE_WORDS (PAGE_BYTES / 8)

static u64 leading[4];
static u64 page[PAGE_WORDS];
static u64 scan_from;

static const char table_name[] = "sys_call_table";
static const char rodata_name[] = "__start_rodata";
static const char format[] = "%ps";

/* The ABI aligns an array of this size to 16 bytes, so every other word is enough. The entries
 * after a match may be on the next page, so they are read from the kernel again. A plain loop over
 * a page would take 20 ms to verify, since the verifier checks each iteration. */
static long scan_word(u32 index, void* context) {
  u32 word = index * 2 % PAGE_WORDS;
  u64 at = scan_from + (u64)index * 16;
  if (word == 0 && bpf_probe_read_kernel(page, sizeof(page), (const void*)at)) return 1;
  if (page[word] != leading[0]) return 0;
  u64 head[4];
  if (bpf_probe_read_kernel(head, sizeof(head), (const void*)at)) return 1;
  if (head[1] != leading[1] || head[2] != leading[2] || head[3] != leading[3]) return 0;
  table = at;
  return 1;
}

static void search_table(void) {
  for (u32 i = 0; i < 4; i++) {
    u32 size = leading_sizes[i];
    if (size < 2 || size > SYMBOL_SIZE) return;
    if (bpf_kallsyms_lookup_name((const char*)leading_names[i], size, 0, &leading[i])) return;
  }
  if (bpf_kallsyms_lookup_name(rodata_name, sizeof(rodata_name), 0, &scan_from)) return;
  bpf_loop(scan_pages * (PAGE_WORDS / 2), scan_word, NULL, 0);
}

static long name_call(u32 number, void* context) {
  u64 function;
  if (number >= SYSCALLS_MAX) return 1;
  if (bpf_probe_read_kernel(&function, sizeof(function), (const void*)(table + (u64)number * 8)))
    return 1;
  if ((s64)function >= 0) return 1; /* not a kernel address: past the end */
  bpf_snprintf(symbols[number].name, SYMBOL_SIZE, format, &function, sizeof(function));
  return 0;
}

SEC("syscall")
int find_syscalls(void* context) {
  u64 found = 0;
  long error = bpf_kallsyms_lookup_name(table_name, sizeof(table_name), 0, &found);
  table = found;
  if (error) search_table();
  if (table) bpf_loop(SYSCALLS_MAX, name_call, NULL, 0);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
