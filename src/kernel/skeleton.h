#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "kernel/libbpf_log.h"

namespace overdue {

/// What `bpftool gen skeleton` emits for C++: the static functions this wrapper calls.
template <typename T>
concept GeneratedSkeleton = requires(T* skeleton) {
  { T::open() } -> std::same_as<T*>;
  { T::load(skeleton) } -> std::same_as<int>;
  T::destroy(skeleton);
  skeleton->progs;
  skeleton->maps;
};

/// Owns one BPF object: opened on construction, detached and unloaded on destruction. One thread.
template <GeneratedSkeleton T>
class Skeleton {
 public:
  explicit Skeleton(std::string name) : name_(std::move(name)), skeleton_(T::open()) {
    if (!skeleton_) throw Error("cannot open the BPF object {}: {}", name_, errno_text(errno));
  }
  T* operator->() const { return skeleton_.get(); }
  T& operator*() const { return *skeleton_; }

  /// Throws Error with the kernel's reason and the next step.
  void load() {
    const LibbpfLog log;
    if (const int error = T::load(skeleton_.get()); error != 0)
      throw Error("cannot load the BPF programs of {}: {}", name_, LibbpfLog::explain(error))
          .hint(LibbpfLog::remedy(error));
  }

 private:
  struct Destroy {
    void operator()(T* skeleton) const { T::destroy(skeleton); }
  };
  std::string name_;
  std::unique_ptr<T, Destroy> skeleton_;
};

struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
/// An attached program; detached when destroyed.
using Link = std::unique_ptr<bpf_link, DestroyLink>;

/// Tells programs with bpf/target.bpf.h to look at what begins on `cpus` only; empty: everywhere.
template <typename ReadOnlyData>
void limit_to_cpus(ReadOnlyData& rodata, std::span<const std::uint32_t> cpus) {
  rodata.cpus_limited = !cpus.empty();
  for (const std::uint32_t cpu : cpus)
    if (cpu / 64 < std::size(rodata.cpu_set))
      rodata.cpu_set[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
}

/// Attaches `program` where its section says. Throws Error with the reason.
Link attach(bpf_program* program);
/// Attaches `program` to one more tracepoint.
Link attach_tracepoint(bpf_program* program, const std::string& category, const std::string& name);

}  // namespace overdue
