#include "live/disk_writers.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "target/proc.h"

namespace overdue {

DiskWriters::DiskWriters(std::filesystem::path proc) : proc_(std::move(proc)), begin_(bytes()) {}

std::map<std::uint32_t, std::uint64_t> DiskWriters::bytes() const {
  std::map<std::uint32_t, std::uint64_t> bytes;
  const ReadRights rights;
  const std::vector<std::uint32_t> processes = Proc(proc_).processes();
  if (processes.size() > processes_max) return bytes;
  for (const std::uint32_t pid : processes) {
    const auto text = read_text(proc_ / std::to_string(pid) / "io");
    if (!text) continue;
    // Data of a file that was removed or truncated in time never goes to a disk.
    const std::uint64_t written = number_behind(*text, "write_bytes:").value_or(0);
    const std::uint64_t cancelled = number_behind(*text, "cancelled_write_bytes:").value_or(0);
    bytes[pid] = written - std::min(written, cancelled);
  }
  return bytes;
}

std::vector<Remark> DiskWriters::since_begin() const {
  struct Writer {
    std::uint32_t pid = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Writer> writers;
  std::vector<Remark> found;
  if (begin_.empty()) return found;
  const auto now = bytes();
  // A process gets the sums of a child that has ended, from before the session too. Which process
  // is not known: what ended children had written before counts for none.
  std::uint64_t ended = 0, all = 0;
  for (const auto& [pid, bytes] : begin_)
    if (!now.contains(pid)) ended += bytes;
  for (const auto& [pid, bytes] : now) {
    const auto before = begin_.find(pid);
    const std::uint64_t old = before == begin_.end() ? 0 : before->second + ended;
    if (bytes > old) writers.push_back({pid, bytes - old});
  }
  for (const Writer& writer : writers) all += writer.bytes;
  std::ranges::sort(writers, std::ranges::greater(), &Writer::bytes);
  for (const Writer& writer : writers) {
    if (found.size() == named_max || writer.bytes < all / 100 * least_percent) break;
    const std::string comm = read_word(proc_ / std::to_string(writer.pid) / "comm");
    found.push_back({.id = writer.pid,
                     .words = fmt::format("{}[{}] ({})", printable(comm), writer.pid,
                                          bytes_text(writer.bytes))});
  }
  return found;
}

}  // namespace overdue
