#include "report/why/unnamed_code.h"

#include <algorithm>

#include <fmt/format.h>

namespace overdue {
namespace {

struct Runtime {
  std::string_view file;
  std::string_view advice;  ///< {} is the pid
};

constexpr Runtime runtimes[] = {
    {"libjvm.so",
     "Java methods have no names: --perf-maps asks JVM {} (17 or newer) for those of compiled "
     "methods"},
    {"node", "JavaScript functions have no names: `node --perf-basic-prof` writes them"},
    {"nodejs", "JavaScript functions have no names: `node --perf-basic-prof` writes them"},
    {"libcoreclr.so",
     "methods of .NET have no names: `DOTNET_PerfMapEnabled=1` in the environment writes them"},
};

std::string_view file_of(const StackFrame& frame) {
  const std::string_view module = frame.module;
  return module.substr(module.rfind('/') + 1);
}

}  // namespace

bool is_of_jvm(const StackFrame& frame) {
  return file_of(frame) == "libjvm.so" ||
         (frame.is_jit && (frame.name == "Interpreter" || frame.name.starts_with("StubRoutines")));
}

void UnnamedCode::add(std::uint32_t pid, const Stack& user_stack) {
  const bool has_unnamed = std::ranges::any_of(user_stack, [](const StackFrame& frame) {
    return frame.name.empty() && frame.module == "[anon]";
  });
  if (!has_unnamed) return;
  for (const StackFrame& frame : user_stack) {
    const auto* const runtime = std::ranges::find(runtimes, file_of(frame), &Runtime::file);
    if (runtime == std::end(runtimes)) continue;
    found_.try_emplace(runtime->file, pid);
    return;
  }
}

std::vector<std::string> UnnamedCode::notes() const {
  std::vector<std::string> notes;
  for (const Runtime& runtime : runtimes)
    if (const auto found = found_.find(runtime.file); found != found_.end())
      notes.push_back(fmt::format(fmt::runtime(runtime.advice), found->second));
  return notes;
}

}  // namespace overdue
