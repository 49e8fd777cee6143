#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/share.h"
#include "core/stack_namer.h"

namespace overdue {

struct KernelWork;

/// The share of one function in the CPU time of threads with one name.
struct WhyFunction {
  std::string function;  ///< the program's own innermost function and its caller
  std::string module;    ///< file of the function
  std::string thread;    ///< name of the threads, with * for numbers
  std::uint64_t samples = 0;
  std::uint64_t of = 0;  ///< samples of these threads
  std::string call{};    ///< the system call that most of the samples are in; empty: none

  double share() const { return share_of(samples, of); }
};

/// "munmap ← release ← main": the function as text shows it, with its call.
std::string shown_function(const WhyFunction& function);

/// Leaves the samples of `work` out of the functions of the same threads.
void leave_out(const std::vector<WhyFunction>& work, std::vector<WhyFunction>& functions);

/// Samples of running threads by the program's own function. Memory is bounded; used by one thread.
class CpuFunctions {
 public:
  /// The process and the name of a group of threads.
  using Key = std::pair<std::uint32_t, std::string>;

  void add(std::uint32_t pid, std::string_view comm, const Stack& kernel, const Stack& user);
  /// The functions of a group, most samples first; process 0: of the name in all processes.
  std::vector<WhyFunction> of(const Key& group) const;
  /// The innermost function of the program that nearly all samples of a group are in or below, if
  /// they are in many functions below; nothing where the threads begin in this function. A function
  /// of Python, or one that a runtime has compiled, goes before those of libraries that it calls.
  std::optional<WhyFunction> common_of(const Key& group) const;
  /// The functions of the threads of each name, most samples first.
  std::vector<WhyFunction> all() const;
  std::uint64_t samples() const { return samples_; }

  /// Samples of a group in which the kernel did work of one kind for its threads.
  struct Work {
    std::string name;  ///< "memory reclaim", "page faults"
    std::uint64_t samples = 0, of = 0;
    std::uint64_t in_calls = 0;          ///< samples within system calls
    std::uint64_t least_percent = 0;     ///< from which on it is a cause; 0: always
    std::vector<WhyFunction> functions;  ///< that asked for the work, most samples first
    std::vector<WhyFunction> counted;    ///< as of() has these samples
  };
  /// `returns`: how often each process came back from a handler of a signal, by pid.
  std::vector<Work> works_of(const Key& group,
                             const std::map<std::uint32_t, std::uint64_t>& returns) const;
  /// The processes that the kernel did work of this name for.
  std::set<std::uint32_t> processes_with(const std::string& work) const;

 private:
  struct Samples {
    std::uint64_t count = 0;
    std::map<std::string, std::uint64_t> in_calls;  ///< by the name of the system call
    void add(const Samples& other);
  };
  /// By the name and the module of a function.
  using Functions = std::map<std::pair<std::string, std::string>, Samples>;
  /// A function with all that it calls.
  struct Below {
    std::uint64_t samples = 0;
    std::uint64_t depth = 0;     ///< number of the program's functions around it, of all samples
    bool is_of_runtime = false;  ///< a function of the user's, as those of Python are
  };
  struct KindOfWork {
    std::uint64_t samples = 0, in_calls = 0, in_handlers = 0, least_percent = 0;
    Functions functions, counted;

    /// Whether the program goes on in a handler, as a process does that was forked there: it did
    /// not return as often as handlers do. Such work is not that of signals.
    bool goes_on_in_handler(std::uint64_t returns) const {
      constexpr std::uint64_t longest = 2;  // samples in one handler, on average
      return in_handlers * 2 > samples && in_handlers > longest * returns;
    }
  };
  struct Group {
    std::uint64_t samples = 0;
    std::map<std::string, KindOfWork> works;
    Functions functions;
    std::map<std::string, Below> below;
  };
  /// `work`: what the kernel does in the stack, unless it reclaims memory; null: nothing known.
  static void add_work(Group& group, const Stack& kernel, const Stack& user,
                       const Functions::key_type& function, const Samples& sample,
                       const KernelWork* work);
  /// `own`: the program's functions in a sample, innermost first.
  static void add_below(Group& group, const std::vector<const StackFrame*>& own);
  static bool is_in(const Key& one, const Key& group);
  static std::vector<WhyFunction> functions_of(const std::string& thread, const Group& group);

  std::map<Key, Group> groups_;
  std::uint64_t samples_ = 0;
};

}  // namespace overdue
