#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernel/asked_types.h"
#include "kernel/extern_functions.h"
#include "kernel/libbpf_log.h"
#include "kernel/reused_data.h"
#include "kernel/tracepoint_types.h"

struct perf_event_attr;

namespace overdue {

/// What `bpftool gen skeleton` emits for C++: the static functions this wrapper calls.
template <typename T>
concept GeneratedSkeleton = requires(T* skeleton) {
  { T::open() } -> std::same_as<T*>;
  { T::load(skeleton) } -> std::same_as<int>;
  T::destroy(skeleton);
  skeleton->progs;
  skeleton->maps;
  skeleton->obj;
};

/// A program that this kernel refused, and its section: "tp_btf/local_timer_entry".
struct RefusedProgram {
  std::string name;
  std::string section;
  std::string reason;
};
using RefusedPrograms = std::vector<RefusedProgram>;
bool is_refused(const RefusedPrograms& refused, const bpf_program* program);
/// For the report: what is left out, and why.
std::vector<std::string> to_sentences(const RefusedPrograms& refused);

/// The tracepoint or function of a program's section, without the kind of hook:
/// "local_timer_entry".
std::string_view tracepoint_of(const bpf_program* program);

/// Owns one BPF object: the constructor opens it, the destructor detaches and unloads it. One
/// thread.
template <GeneratedSkeleton T>
class Skeleton {
 public:
  explicit Skeleton(std::string name) : name_(std::move(name)), skeleton_(T::open()) {
    if (!skeleton_) throw Error("cannot open the BPF object {}: {}", name_, errno_text(errno));
    types_ = asked_types(skeleton_->skeleton->data, bpf_object__btf(skeleton_->obj));
    if (!types_.empty()) reopen();
  }
  T* operator->() const { return skeleton_.get(); }
  T& operator*() const { return *skeleton_; }

  /// Makes weak functions absent that this kernel has with another prototype: libbpf would refuse
  /// the whole object for one. Call before the object is configured. `types` returns the kernel's
  /// types; it is called only if the object has weak functions.
  template <typename Types>
  void hide_unlike_functions(Types types) {
    const bpf_object_skeleton& parts = *skeleton_->skeleton;
    const std::span file(static_cast<const std::byte*>(parts.data), parts.data_sz);
    const btf* own = bpf_object__btf(skeleton_->obj);
    const std::vector<const char*> optional = weak_functions(file, own);
    if (optional.empty()) return;
    const std::vector<std::string> unlike = functions_unlike(optional, own, types());
    if (unlike.empty()) return;
    bytes_ = without_functions(file, unlike);
    reopen();
  }

  /// Whether the kernel has `function` as the object declares it.
  bool can_call(const TracepointTypes& types, const char* function) const {
    return types.has_function_like(bpf_object__btf(skeleton_->obj), function);
  }

  /// Throws Error with the kernel's reason and the next step.
  void load() {
    const LibbpfLog log;
    if (const int error = T::load(skeleton_.get()); error != 0)
      throw LibbpfLog::refusal(fmt::format("cannot load the BPF programs of {}", name_), error);
    map_reused_data(skeleton_->obj);
  }

  /// As load(), but if the kernel refuses an optional program, the others are still loaded.
  /// `configure` sets the object up. After a refusal it is called again with the programs refused
  /// so far, whose autoload it must turn off. `may_lack` is true for an optional program.
  template <typename Configure, typename MayLack>
  RefusedPrograms load_what_works(Configure configure, MayLack may_lack) {
    RefusedPrograms refused;
    while (true) {
      configure(refused);
      try {
        load();
        return refused;
      } catch (const Error& error) {
        const std::string name = LibbpfLog::refused_program();
        const bpf_program* program = bpf_object__find_program_by_name(skeleton_->obj, name.c_str());
        if (!program || is_refused(refused, program) || !may_lack(program)) throw;
        refused.push_back({name, bpf_program__section_name(program), error.what()});
      }
      reopen();
    }
  }

 private:
  struct Destroy {
    void operator()(T* skeleton) const { T::destroy(skeleton); }
  };

  /// An object cannot be loaded twice: opens the object again, from `bytes_` unless empty.
  void reopen() {
    bpf_object_skeleton* parts = skeleton_->skeleton;
    bpf_object__close(*parts->obj);
    *parts->obj = nullptr;
    if (!bytes_.empty()) {
      parts->data = bytes_.data();
      parts->data_sz = bytes_.size();
    }
    bpf_object_open_opts options{};  // libbpf's macro causes warnings in clang
    options.sz = sizeof options;
    options.btf_custom_path = types_.empty() ? nullptr : types_.c_str();
    check(bpf_object__open_skeleton(parts, &options), "cannot open the BPF object {}", name_);
  }

  std::string name_;
  std::string types_;             ///< file of asked_types(); empty: all kernel types
  std::vector<std::byte> bytes_;  ///< the object, if it differs from that of the build
  std::unique_ptr<T, Destroy> skeleton_;
};

struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
/// An attached program; the destructor detaches it.
using Link = std::unique_ptr<bpf_link, DestroyLink>;

/// Limits programs with bpf/target.bpf.h to spans that begin on `cpus`; empty: on all CPUs.
template <typename ReadOnlyData>
void limit_to_cpus(ReadOnlyData& rodata, std::span<const std::uint32_t> cpus) {
  rodata.cpus_limited = !cpus.empty();
  for (const std::uint32_t cpu : cpus)
    if (cpu / 64 < std::size(rodata.cpu_set))
      rodata.cpu_set[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
}

/// Attaches `program` to the hook of its section. Throws Error with the reason.
Link attach(bpf_program* program);
/// Attaches `program` to one more tracepoint.
Link attach_tracepoint(bpf_program* program, const std::string& category, const std::string& name);

/// Attaches `program` to an event of one CPU. Null, and errno, if the event cannot be opened;
/// throws Error if the program cannot be attached.
Link attach_to_cpu(bpf_program* program, perf_event_attr attributes, std::uint32_t cpu);

}  // namespace overdue
