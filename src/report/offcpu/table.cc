#include "report/offcpu/table.h"

#include <algorithm>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t kept_threads_max = 20'000;  // kept apart; more living threads are kept, too
constexpr std::size_t ended_max = 20'000;         // sums of threads that have ended
constexpr std::size_t displacers_max =
    1'000;  // of a thread; more are added up by name, up to twice as many

std::uint64_t age_at(std::uint64_t time_ns, std::uint64_t since_ns) {
  return growth(time_ns, since_ns);
}

/// The sums of a record, as a row.
OffcpuRow row_of(const offcpu_thread& record) {
  OffcpuRow row;
  row.wall_ns = age_at(record.header.time_ns, record.since_ns);
  row.oncpu_ns = record.sums.oncpu_ns;
  row.sleeping_ns = record.sums.sleeping_ns;
  row.uninterruptible_ns = record.sums.uninterruptible_ns;
  row.runqueue_ns = record.sums.runqueue_ns;
  row.preempted_ns = record.sums.preempted_ns;
  row.throttled_ns = record.sums.throttled_ns;
  std::ranges::copy(record.reason_ns, row.reason_ns.begin());
  row.reason_ns[REASON_LOCK] = record.lock_ns;
  row.switches = record.waits;
  row.preemptions = record.preemptions;
  return row;
}

/// What threads that have ended are added up by.
Owner ended_key(const Owner& thread) {
  Owner key;
  for (const Whose by : {Whose::name, Whose::cgroup, Whose::parent}) add_to_key(key, thread, by);
  return key;
}

constexpr std::uint64_t OffcpuRow::* added_figures[] = {
    &OffcpuRow::wall_ns,      &OffcpuRow::oncpu_ns,
    &OffcpuRow::sleeping_ns,  &OffcpuRow::uninterruptible_ns,
    &OffcpuRow::runqueue_ns,  &OffcpuRow::preempted_ns,
    &OffcpuRow::throttled_ns, &OffcpuRow::switches,
    &OffcpuRow::preemptions};

std::vector<Displacer> longest_first(const auto& displacers) {
  std::vector<Displacer> all;
  for (const auto& [who, displacer] : displacers) all.push_back(displacer);
  std::ranges::sort(all, std::greater{}, &Displacer::total_ns);
  return all;
}

}  // namespace

void Displacer::add(const Displacer& other) {
  count += other.count;
  total_ns += other.total_ns;
  max_ns = std::max(max_ns, other.max_ns);
}

std::uint64_t OffcpuRow::unknown_ns() const {
  return growth(wall_ns, oncpu_ns + offcpu_ns());
}

void OffcpuRow::add(const OffcpuRow& other) {
  for (const auto sum : added_figures) this->*sum += other.*sum;
  for (std::size_t i = 0; i < reason_ns.size(); ++i) reason_ns[i] += other.reason_ns[i];
  threads += other.threads;
  processes += other.processes;
  max_ns = std::max(max_ns, other.max_ns);
  open_ns = std::max(open_ns, other.open_ns);
}

void OffcpuRow::add_growth(const OffcpuRow& now, const OffcpuRow& before) {
  for (const auto sum : added_figures) this->*sum += growth(now.*sum, before.*sum);
  for (std::size_t i = 0; i < reason_ns.size(); ++i)
    reason_ns[i] += growth(now.reason_ns[i], before.reason_ns[i]);
}

void OffcpuRow::set_sums(const OffcpuRow& now) {
  for (const auto sum : added_figures) this->*sum = now.*sum;
  reason_ns = now.reason_ns;
}

void give_full_names(std::vector<OffcpuRow>& rows, const Names& names, QueueOfWork queue) {
  if (names.threads.empty()) return;
  for (OffcpuRow& row : rows) {
    // A thread of the kernel is a process too. Rows of several threads have no pid.
    row.comm = full_name(names, row.tid != 0 ? row.tid : row.pid, row.comm, queue);
    for (std::vector<Displacer>* const of : {&row.displacers, &row.behind})
      for (Displacer& one : *of) one.comm = full_name(names, one.tid, one.comm, queue);
  }
}

void complete_rows(std::vector<OffcpuRow>& rows, Whose by, const Names& names, QueueOfWork queue) {
  give_full_names(rows, names, queue);
  for (OffcpuRow& row : rows) {
    if (by == Whose::cgroup) resolve_cgroup(row, names);
    if (by != Whose::parent) {
      row.parent.clear();
      row.parent_pid = 0;
    }
    if (by == Whose::thread || by == Whose::process) row.processes = 0;
  }
}

void OffcpuTable::Sums::add(const Sums& other) {
  row.add(other.row);
  for (Displacers Sums::* const of : {&Sums::displacers, &Sums::behind})
    for (const auto& [key, displacer] : other.*of) {
      Displacer& own = (this->*of)[key];
      own.tid = key.first;
      own.comm = key.second;
      own.add(displacer);
    }
}

OffcpuTable::Thread& OffcpuTable::thread_of(std::uint32_t number, std::uint32_t tid) {
  const Key key = number == 0 ? Key{0, tid} : Key{number, 0};
  if (const auto known = threads_.find(key); known != threads_.end()) return known->second;
  if (threads_.size() >= kept_threads_max) merge_ended();
  Thread& thread = threads_[key];
  // A thread gets its number when it first runs.
  if (const auto unnumbered = threads_.find({0, tid});
      number != 0 && unnumbered != threads_.end()) {
    thread = std::move(unnumbered->second);
    threads_.erase(unnumbered);
  }
  return thread;
}

void OffcpuTable::add(const Record& record) {
  if (record.schema->id == RECORD_OFFCPU_THREAD) add_thread(record.as<offcpu_thread>());
  if (record.schema->id == RECORD_OFFCPU_DISPLACER) add_displacer(record.as<offcpu_displacer>());
}

void OffcpuTable::add_thread(const offcpu_thread& record) {
  Thread& thread = thread_of(record.number, record.header.tid);
  if (thread.has_ended) return;
  thread.has_ended = (record.flags & OFFCPU_ENDED) != 0;
  const OffcpuRow now = row_of(record), before = row_of(thread.last);
  for (Sums* of : {&thread.total, &thread.interval}) {
    OffcpuRow& row = of->row;
    static_cast<Owner&>(row) = owner_of(record.header, record.origin);
    row.threads = 1;
    row.processes = row.pid == row.tid ? 1 : 0;
    row.max_ns = std::max(row.max_ns, record.longest_ns);
    row.open_ns = record.open_ns;
    row.add_growth(now, before);
  }
  thread.total.row.set_sums(now);
  thread.last = record;
}

void OffcpuTable::add_displacer(const offcpu_displacer& record) {
  Thread& thread = thread_of(record.number, record.header.tid);
  for (Sums* sums : {&thread.total, &thread.interval}) {
    Displacers& of = record.how == WAITED_BEHIND ? sums->behind : sums->displacers;
    std::pair who{record.displacer_tid, std::string(fixed_text(record.displacer))};
    const auto has_no_room = [&](std::size_t most) {
      return of.size() >= most && !of.contains(who);
    };
    if (has_no_room(displacers_max)) who.first = 0;
    if (has_no_room(2 * displacers_max)) who.second = "(other)";
    Displacer& displacer = of[who];
    displacer.tid = who.first;
    displacer.comm = who.second;
    displacer.add({who.first, who.second, record.count, record.total_ns, record.max_ns});
  }
}

/// Adds the threads that have ended up. Their names are hostile, so the sums are bounded too.
void OffcpuTable::merge_ended() {
  std::erase_if(threads_, [this](const auto& entry) {
    const Thread& thread = entry.second;
    if (!thread.has_ended) return false;
    Owner key = ended_key(thread.total.row);
    if (ended_.size() >= ended_max && !ended_.contains(key)) key = ended_key(other_owner());
    Thread& all = ended_[key];
    all.total.add(thread.total);
    all.interval.add(thread.interval);
    static_cast<Owner&>(all.total.row) = static_cast<Owner&>(all.interval.row) = key;
    ++merged_threads_;
    return true;
  });
}

void OffcpuTable::end_interval() {
  for (auto& [key, thread] : threads_) thread.interval = {};
  for (auto& [key, thread] : ended_) thread.interval = {};
}

std::vector<OffcpuRow> OffcpuTable::merged(Whose by, Sums Thread::* of) const {
  // Ended threads that were added up are of no process.
  const bool is_apart = by == Whose::thread || by == Whose::process;
  std::map<std::pair<Owner, std::uint64_t>, Sums> groups;
  const auto add = [&](const Sums& sums, std::uint64_t thread) {
    const OffcpuRow& row = sums.row;
    if (row.wall_ns == 0) return;
    const bool is_one = is_apart && row.tid != 0;
    const Owner key = key_of(row, is_one || !is_apart ? by : Whose::name);
    Sums& group = groups[{key, is_one && by == Whose::thread ? thread : 0}];
    const bool is_leader = row.pid == row.tid;
    if (group.row.threads == 0 || is_leader) static_cast<Owner&>(group.row) = is_one ? row : key;
    if (by == Whose::process) group.row.tid = 0;
    if (by == Whose::parent) group.row.comm = row.process;
    group.add(sums);
  };
  for (const auto& [key, thread] : threads_)
    add(thread.*of, std::uint64_t{key.first} << 32 | key.second);
  for (const auto& [key, thread] : ended_) add(thread.*of, 0);
  std::vector<OffcpuRow> rows;
  for (auto& [key, group] : groups) {
    group.row.displacers = longest_first(group.displacers);
    group.row.behind = longest_first(group.behind);
    rows.push_back(std::move(group.row));
  }
  return rows;
}

}  // namespace overdue
