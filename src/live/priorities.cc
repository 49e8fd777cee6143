#include "live/priorities.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "live/late_threads.h"
#include "target/cgroups.h"
#include "target/proc.h"

namespace overdue {
namespace {

constexpr std::size_t rivals_max = 3;  // of one thread, those that had the CPU longest

struct Rival {
  std::uint32_t tid = 0;
  std::string comm{};
  std::uint64_t ns = 0;  ///< time on the CPU while the other thread could run
};

std::vector<Rival> rivals_of(const OffcpuRow& thread) {
  std::map<std::uint32_t, Rival> sums;
  const auto add = [&](const Displacer& one, std::uint64_t ns) {
    if (one.tid == 0) return;
    Rival& rival = sums[one.tid];
    rival.tid = one.tid;
    rival.comm = one.comm;
    rival.ns += ns;
  };
  for (const Displacer& one : thread.displacers) add(one, one.ran_at_most_ns());
  for (const Displacer& one : thread.behind) add(one, one.total_ns);
  std::vector<Rival> rivals;
  for (auto& [tid, rival] : sums) rivals.push_back(std::move(rival));
  std::ranges::sort(rivals, std::ranges::greater(), &Rival::ns);
  if (rivals.size() > rivals_max) rivals.resize(rivals_max);
  return rivals;
}

/// How the scheduler treats a thread beside the others of its cgroup.
struct Schedule {
  int policy = SCHED_OTHER;
  int nice = 0;
  int real_time = 0;  ///< priority; 0: none
  bool is_real_time() const { return policy == SCHED_FIFO || policy == SCHED_RR; }
  /// Whether nice values count. They do not for deadlines, nor for policies of later kernels.
  bool is_fair() const {
    return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
  }
};

/// A cgroup in which the threads have a common share of the CPUs.
struct ShareGroup {
  std::string path{};
  std::string_view file{};  ///< that has the weight
  std::uint64_t weight = 0;
};

class Priorities {
 public:
  explicit Priorities(const std::filesystem::path& proc)
      : proc_(proc),
        cgroups_(proc),
        has_autogroups_(read_word(proc / "sys/kernel/sched_autogroup_enabled") == "1") {}

  /// What gives the rival priority over the thread; empty: nothing does, or one has ended.
  std::string words(std::uint32_t tid, const Rival& rival);

 private:
  std::string text_of(std::uint32_t tid, std::string_view file) const {
    return read_text(proc_ / std::to_string(tid) / file).value_or("");
  }
  std::optional<Schedule> schedule_of(std::uint32_t tid) const;
  const std::vector<ShareGroup>& groups_of(std::uint32_t tid);
  std::string words_of_autogroups(std::uint32_t tid, const Rival& rival) const;

  std::filesystem::path proc_;
  Cgroups cgroups_;
  bool has_autogroups_;
  std::map<std::uint32_t, std::vector<ShareGroup>> groups_;  ///< by tid
};

std::optional<Schedule> Priorities::schedule_of(std::uint32_t tid) const {
  // Columns of /proc/TID/stat behind the name, which ends with the last parenthesis.
  constexpr std::size_t nice = 17, priority = 38, policy = 39;
  const std::string text = text_of(tid, "stat");
  const std::vector<std::string_view> columns =
      split(std::string_view(text).substr(std::min(text.rfind(')'), text.size())), ' ');
  if (columns.size() <= policy) return std::nullopt;
  const auto number = [&](std::size_t column) {
    int value = 0;
    const std::string_view word = columns[column];
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  };
  return Schedule{number(policy), number(nice), number(priority)};
}

/// The cgroups of a thread that have a weight, the outermost first.
const std::vector<ShareGroup>& Priorities::groups_of(std::uint32_t tid) {
  const auto [known, is_new] = groups_.try_emplace(tid);
  if (!is_new) return known->second;
  std::vector<CgroupTarget> lineage =
      cgroups_.lineage(parse_memberships(text_of(tid, "cgroup")), "cpu");
  if (std::ranges::any_of(lineage, [](const CgroupTarget& one) { return !one.v2; }))
    std::erase_if(lineage, [](const CgroupTarget& one) { return one.v2; });
  std::ranges::reverse(lineage);
  for (const CgroupTarget& one : lineage) {
    const std::string_view file = one.v2 ? "cpu.weight" : "cpu.shares";
    const auto weight = first_number(read_word(one.directory / file));
    if (weight && one.path != "/") known->second.push_back({one.path, file, *weight});
  }
  return known->second;
}

/// Beside threads of other sessions, only the nice value of the whole session counts.
std::string Priorities::words_of_autogroups(std::uint32_t tid, const Rival& rival) const {
  const std::string own = text_of(tid, "autogroup"), other = text_of(rival.tid, "autogroup");
  const auto nice_of = [](std::string_view text) {
    constexpr std::string_view title = " nice ";
    int nice = 0;
    if (const std::size_t at = text.find(title); at != text.npos)
      std::from_chars(text.data() + at + title.size(), text.data() + text.size(), nice);
    return nice;
  };
  if (own.empty() || other.empty() || nice_of(own) <= nice_of(other)) return {};
  return fmt::format("the session (autogroup) has nice {}, that of {} {}", nice_of(own),
                     printable(rival.comm), nice_of(other));
}

std::string Priorities::words(std::uint32_t tid, const Rival& rival) {
  const auto own = schedule_of(tid), other = schedule_of(rival.tid);
  if (!own || !other) return {};
  const std::string name = printable(rival.comm);
  if (other->is_real_time() && (!own->is_real_time() || own->real_time < other->real_time))
    return fmt::format("{} has {}, priority {}", name,
                       other->policy == SCHED_FIFO ? "SCHED_FIFO" : "SCHED_RR", other->real_time);
  if (!other->is_fair() || !own->is_fair()) return {};

  const std::vector<ShareGroup>& groups = groups_of(tid);
  const std::vector<ShareGroup>& others = groups_of(rival.tid);
  const auto [mine, theirs] =
      std::ranges::mismatch(groups, others, {}, &ShareGroup::path, &ShareGroup::path);
  if (mine != groups.end() && theirs != others.end()) {
    if (mine->weight >= theirs->weight) return {};
    return fmt::format("cgroup {} has {} {}, {} of {} has {}", printable(mine->path), mine->file,
                       mine->weight, printable(theirs->path), name, theirs->weight);
  }
  if (mine != groups.end() || theirs != others.end()) return {};
  const bool is_of_session = has_autogroups_ && groups.empty();
  if (is_of_session && text_of(tid, "autogroup") != text_of(rival.tid, "autogroup"))
    return words_of_autogroups(tid, rival);
  if (own->policy == SCHED_IDLE && other->policy != SCHED_IDLE)
    return fmt::format("scheduled as SCHED_IDLE, {} is not", name);
  if (own->nice <= other->nice || other->policy == SCHED_IDLE) return {};
  return fmt::format("nice {}, {} has {}", own->nice, name, other->nice);
}

}  // namespace

std::vector<Remark> lower_priorities(const std::vector<OffcpuRow>& threads,
                                     const std::filesystem::path& proc) {
  std::vector<Remark> remarks;
  const std::vector<const OffcpuRow*> late = threads_without_cpu(threads);
  if (late.empty()) return remarks;
  const ReadRights rights;
  Priorities priorities(proc);
  for (const OffcpuRow* thread : late) {
    std::uint64_t all_ns = 0;
    std::map<std::string, std::uint64_t> said;
    for (const Rival& rival : rivals_of(*thread)) {
      all_ns += rival.ns;
      said[priorities.words(thread->tid, rival)] += rival.ns;
    }
    for (const auto& [words, ns] : said)
      if (!words.empty() && 2 * ns > all_ns) remarks.push_back({.id = thread->tid, .words = words});
  }
  return remarks;
}

}  // namespace overdue
