// SPDX-License-Identifier: Apache-2.0
// bench_floor [VARIANT…]: loads the named floor variants (default: all) and prints "ready". Each
// line of stdin names a variant, or "none": the program detaches the previous variant, attaches the
// named one, and answers "attached VARIANT". At the end of stdin it detaches and exits. Driven by
// bench/run.py.
#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "floor.skel.h"

namespace {

struct Variant {
  std::string_view name;
  std::vector<std::string> programs;
};

const std::array<Variant, 8> variants = {{
    {"empty", {"empty_enter", "empty_exit"}},
    {"clock", {"clock_enter", "clock_exit"}},
    {"array", {"array_enter", "array_exit"}},
    {"switches", {"clock_enter", "empty_exit", "clock_switch", "empty_waking"}},
    {"ledgers", {"ledger_enter", "ledger_exit", "ledger_switch", "ledger_waking"}},
    {"ledgers-beside-empty",
     {"empty_enter", "empty_exit", "ledger_enter", "ledger_exit", "ledger_switch",
      "ledger_waking"}},
    {"foreign", {"foreign_enter"}},
    {"foreign-pair", {"foreign_enter", "foreign_exit"}},
}};

struct DestroySkeleton {
  void operator()(floor_bpf* skeleton) const { floor_bpf__destroy(skeleton); }
};
struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Skeleton = std::unique_ptr<floor_bpf, DestroySkeleton>;
using Link = std::unique_ptr<bpf_link, DestroyLink>;

const Variant* find_variant(std::string_view name) {
  for (const Variant& variant : variants) {
    if (variant.name == name) return &variant;
  }
  return nullptr;
}

// Every reply is one line, flushed: the harness waits for it.
void reply(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

int fail(const std::string& message) {
  fmt::print(stderr, "bench_floor: {}\n", message);
  return 1;
}

Skeleton open_floor() {
  // Only libbpf's warnings are printed.
  libbpf_set_print([](libbpf_print_level level, const char* format, va_list arguments) {
    return level == LIBBPF_WARN ? std::vfprintf(stderr, format, arguments) : 0;
  });
  return Skeleton(floor_bpf__open());
}

// Returns an empty string on success, otherwise the failed program and the reason.
std::string attach(const Skeleton& skeleton, const Variant& variant, std::vector<Link>& links) {
  for (const std::string& name : variant.programs) {
    bpf_program* program = bpf_object__find_program_by_name(skeleton->obj, name.c_str());
    if (program == nullptr || bpf_program__fd(program) < 0) return name + ": not loaded";
    Link link(bpf_program__attach(program));
    if (!link) return name + ": " + std::strerror(errno);
    links.push_back(std::move(link));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> wanted(argv + 1, argv + argc);
  if (wanted.empty()) {
    for (const Variant& variant : variants) wanted.push_back(variant.name);
  }
  const Skeleton skeleton = open_floor();
  if (!skeleton) return fail(fmt::format("cannot open the BPF object: {}", std::strerror(errno)));
  for (std::string_view name : wanted) {
    const Variant* variant = find_variant(name);
    if (variant == nullptr) return fail(fmt::format("unknown variant {}", name));
    for (const std::string& program : variant->programs) {
      bpf_program__set_autoload(bpf_object__find_program_by_name(skeleton->obj, program.c_str()),
                                true);
    }
  }
  if (floor_bpf__load(skeleton.get()) != 0) {
    return fail(fmt::format("cannot load the BPF programs: {}", std::strerror(errno)));
  }
  reply("ready");

  std::vector<Link> links;
  for (std::string line; std::getline(std::cin, line);) {
    links.clear();
    const Variant* variant = find_variant(line);
    if (variant == nullptr && line != "none") {
      reply("failed unknown variant " + line);
      continue;
    }
    const std::string problem = variant == nullptr ? "" : attach(skeleton, *variant, links);
    if (!problem.empty()) links.clear();
    reply(problem.empty() ? "attached " + line : "failed " + problem);
  }
  return 0;
}
