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

/// A program that this kernel refused, and what it is attached to: "tp_btf/local_timer_entry".
struct RefusedProgram {
  std::string name;
  std::string section;
  std::string reason;
};
using RefusedPrograms = std::vector<RefusedProgram>;
bool is_refused(const RefusedPrograms& refused, const bpf_program* program);
/// For the reader of a report: what is left out, and why.
std::vector<std::string> to_sentences(const RefusedPrograms& refused);

/// Where a program is attached, without the kind of hook: "local_timer_entry".
std::string_view tracepoint_of(const bpf_program* program);

/// Owns one BPF object: opened on construction, detached and unloaded on destruction. One thread.
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

  /// Makes weak functions that this kernel has with another prototype absent: libbpf would refuse
  /// the whole object for one. To be called before the object is configured. `types` returns the
  /// kernel's types, and is called only where the object has such functions.
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

  /// As load(), but a program that the object can do without costs itself only. `configure` sets
  /// the object up, and is called again after a refusal, with the programs refused so far: those
  /// must not be loaded. `may_lack` says whether the object can do without a program.
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

  /// A second load of an object is not possible: it is opened again, from `bytes_` if there are
  /// any.
  void reopen() {
    bpf_object_skeleton* parts = skeleton_->skeleton;
    bpf_object__close(*parts->obj);
    *parts->obj = nullptr;
    if (!bytes_.empty()) {
      parts->data = bytes_.data();
      parts->data_sz = bytes_.size();
    }
    bpf_object_open_opts options{};  // libbpf's macro for it is not clean under clang
    options.sz = sizeof options;
    options.btf_custom_path = types_.empty() ? nullptr : types_.c_str();
    check(bpf_object__open_skeleton(parts, &options), "cannot open the BPF object {}", name_);
  }

  std::string name_;
  std::string types_;             ///< file of the kernel's types that it asks about; empty: all
  std::vector<std::byte> bytes_;  ///< of the object, where they are not those of the build
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
