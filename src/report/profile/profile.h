#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/profile.h"
#include "core/full_names.h"
#include "core/stack_namer.h"
#include "core/whose.h"
#include "flame/stack_tree.h"

namespace overdue {

/// A thread with samples, or what threads have in common.
struct ProfiledThread {
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::string comm{};     ///< last name of the thread
  std::string process{};  ///< last name of its process
  std::uint64_t samples = 0;
  std::optional<Owner> owner{};  ///< of the threads that are added up; empty: one thread
  std::uint64_t processes = 0;   ///< different processes of this owner
};

/// A function with samples. Functions without a name are one function of their module.
struct ProfiledFunction {
  std::string name{};    ///< empty: unknown
  std::string module{};  ///< as of a StackFrame
  bool is_kernel = false;
  std::uint64_t self = 0;   ///< samples in the function itself
  std::uint64_t total = 0;  ///< … and in the functions that it called; a recursion counts once
};
/// The name, `[libfoo.so]` for the functions of a module that have none, or `[unknown]`.
std::string to_text(const ProfiledFunction& function);

/// Samples with the same stack.
struct ProfiledStack {
  std::string root;                   ///< name of the process, or of the thread
  std::vector<std::uint32_t> frames;  ///< indices of functions, innermost first
  bool is_cut = false;                ///< the outermost frames are missing
  std::uint64_t samples = 0;
};

/// Samples of running threads, added up by thread, function and stack. Memory is bounded: beyond
/// the limits, threads, functions and stacks are added to one that stands for the others. Used by
/// one thread.
class Profile {
 public:
  struct Limits {
    std::size_t threads = 65'536;
    std::size_t functions = 200'000;
    std::size_t roots = 65'536;
    std::size_t stack_words = 8'000'000;  ///< frames of all different stacks
  };

  /// By process or thread, stacks are kept apart by its name; by name, cgroup or parent, by these,
  /// and so are the threads.
  explicit Profile(Whose by) : Profile(by, Limits()) {}
  Profile(Whose by, const Limits& limits);

  /// Stacks are innermost first.
  void add(const profile_sample& sample, const Stack& kernel, const StackNamer::UserStack& user);

  std::uint64_t samples() const { return samples_; }
  std::uint64_t kernel_samples() const { return kernel_samples_; }
  /// Samples whose user stack lacks its outermost frames.
  std::uint64_t cut() const { return cut_; }
  /// Samples added to "(other)" for lack of room.
  std::uint64_t merged() const { return merged_; }
  const ProcessCounts& processes() const { return processes_; }

  /// The full names of kernel threads, for the stacks of all samples that follow.
  void use_names(const Names& names) { names_.threads = names.threads; }
  /// Finds the paths of cgroups, and the full names of kernel threads. Before that, rows by cgroup
  /// have none, and threads have the names of their samples.
  void resolve_names(const Names& names);

  /// Most samples first.
  std::vector<ProfiledThread> threads() const;
  /// By index; the index of a function never changes.
  const std::deque<ProfiledFunction>& functions() const { return functions_; }
  /// The functions, most samples of their own first.
  std::vector<ProfiledFunction> ranked_functions() const;
  /// The `most` hottest stacks, most samples first; 0: all.
  std::vector<ProfiledStack> stacks(std::size_t most) const;
  /// All stacks.
  StackTree tree() const;

 private:
  using Words = std::vector<std::uint32_t>;
  struct FunctionName {
    std::string_view name, module;  // texts of functions_
    bool is_kernel;
    auto operator<=>(const FunctionName&) const = default;
  };

  bool has_owners() const { return by_ != Whose::thread && by_ != Whose::process; }
  void count_thread(const profile_sample& sample);
  void count_owner(const profile_sample& sample, const Owner& key);
  Owner root_owner(const Owner& owner) const;
  std::string root_text(const Owner& root) const;
  std::uint32_t number_of(const FunctionName& function);
  std::uint32_t root_of(Owner root);
  void append(const Stack& stack);
  void count_functions();
  ProfiledStack stack_of(const Words& words, std::uint64_t samples) const;

  Whose by_;
  Limits limits_;
  Names names_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ProfiledThread> threads_;  ///< by pid, tid
  std::map<Owner, ProfiledThread> owners_;  ///< in place of threads_, by name, cgroup or parent
  ProcessCounts processes_;                 ///< of these owners
  std::deque<ProfiledFunction> functions_;
  std::vector<std::uint64_t> counted_;  ///< by function: the last sample in its total
  // Sorted, not hashed: names are hostile, and can be made to collide.
  std::map<FunctionName, std::uint32_t> function_numbers_;
  std::vector<Owner> roots_;
  std::map<Owner, std::uint32_t> root_numbers_;
  std::map<Words, std::uint64_t> stacks_;  ///< root, whether cut, functions innermost first
  Words words_;                            ///< of the sample that is being added
  std::size_t stack_words_ = 0;
  std::uint64_t samples_ = 0, kernel_samples_ = 0, cut_ = 0, merged_ = 0;
};

}  // namespace overdue
