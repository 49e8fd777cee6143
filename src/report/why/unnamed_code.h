#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack.h"

namespace overdue {

/// Processes whose runtime compiles functions that no perf map names, and how to get the names.
class UnnamedCode {
 public:
  void add(std::uint32_t pid, const Stack& user_stack);
  /// A sentence for each runtime.
  std::vector<std::string> notes() const;

 private:
  std::map<std::string_view, std::uint32_t> found_;  ///< the first process, by file of the runtime
};

/// Whether the function is one of a JVM, and no Java method. Interpreted methods have no names.
bool is_of_jvm(const StackFrame& frame);

}  // namespace overdue
