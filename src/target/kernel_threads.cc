#include "target/kernel_threads.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/read_text.h"
#include "base/text.h"

namespace overdue {
namespace {

constexpr std::uint32_t kthreadd = 2;  // the parent of all other kernel threads
constexpr std::size_t longest_comm = 15;
constexpr std::size_t longest_name = 256;
constexpr std::size_t most_threads = 65'536;

/// The kernel lists the children of a thread if it was built with CONFIG_PROC_CHILDREN.
std::vector<std::uint32_t> kernel_threads(const Proc& proc) {
  std::vector<std::uint32_t> tids{kthreadd};
  const auto children = read_text(proc.root() / "2/task/2/children");
  if (children)
    for (const std::string_view word : split(*children, ' '))
      if (const auto tid = parse_u32(word)) tids.push_back(*tid);
  if (tids.size() == 1)
    for (const std::uint32_t pid : proc.processes())
      if (const auto thread = proc.thread(pid); thread && thread->kernel_thread)
        tids.push_back(pid);
  tids.resize(std::min(tids.size(), most_threads));
  return tids;
}

}  // namespace

std::map<std::uint32_t, std::string> kernel_thread_names(const Proc& proc) {
  std::map<std::uint32_t, std::string> names;
  const auto main_thread = proc.thread(kthreadd);
  if (!main_thread || !main_thread->kernel_thread) return names;  // /proc of a PID namespace
  for (const std::uint32_t tid : kernel_threads(proc)) {
    std::string name =
        read_text(proc.root() / std::to_string(tid) / "comm", longest_name).value_or("");
    if (name.ends_with('\n')) name.pop_back();
    if (name.size() > longest_comm || name.starts_with("kworker/")) names[tid] = std::move(name);
  }
  return names;
}

}  // namespace overdue
