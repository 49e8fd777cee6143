#include "probes/syscalls/table.h"

#include <algorithm>

#include "base/text.h"
#include "bpf/callers.h"
#include "syscalls/errno_names.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr u32 no_errno_kept = 0;
constexpr u32 errno_max = 4095;             // of a return value; a damaged cell may have others
constexpr u64 other_number = u64{1} << 32;  // rows of numbers that came when the table was full
constexpr u64 other_cgroup = ~u64{0};
constexpr u32 other_caller = ~u32{0};

bool is_error(s64 ret) {
  return ret < 0 && ret >= -static_cast<s64>(errno_max);
}

std::vector<std::pair<std::string, std::uint64_t>> name_errnos(const std::map<u32, u64>& errnos) {
  std::vector<std::pair<std::string, std::uint64_t>> named;
  for (const auto& [code, count] : errnos)
    if (count > 0)
      named.emplace_back(
          code == no_errno_kept ? std::string("other") : errno_name(static_cast<int>(code)), count);
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return named;
}

}  // namespace

std::uint64_t calls_of(const syscall_cell& cell) {
  return cell.latency.count + cell.unreturned + cell.untimed + cell.refused;
}

Owner SyscallTable::owner_key(const Owner& owner) const {
  Owner key;
  if (by_.name) add_to_key(key, owner, Whose::name);
  if (by_.cgroup) add_to_key(key, owner, Whose::cgroup);
  if (by_.parent) add_to_key(key, owner, Whose::parent);
  return key;
}

SyscallTable::Value& SyscallTable::value(const Call& call, const event_header& who,
                                         const process_origin& origin) {
  const auto [abi, nr, caller] = call;
  Key key{.abi = abi,
          .nr = nr,
          .pid = 0,
          .tid = 0,
          .cgroup = by_.container ? who.cgroup_id : 0,
          .caller = by_.needs_callers() ? caller : CALLER_NONE,
          .comm = {},
          .owner = {}};
  if (by_.has_owners()) {
    key.owner = owner_key(owner_of(who, origin));
    processes_.add(key.owner, who.pid, origin.start_ns);
  }
  if (by_.process) key.pid = who.pid;
  if (by_.thread) key.tid = who.tid;
  if (by_.process || by_.thread) key.comm = fixed_text(who.comm);
  const auto found = values_.find(key);
  if (found != values_.end()) return found->second;
  if (values_.size() >= rows_max) {
    key.pid = key.tid = 0;
    if (by_.process || by_.thread) key.comm = "(other)";
    key.owner = owner_key(other_owner());
    if (nr >= SYSCALL_TABLE_SIZE || abi >= ABI_COUNT) key.nr = other_number;
    if (abi >= ABI_COUNT) key.abi = ABI_COUNT;
    if (values_.size() >= 2 * rows_max) key.cgroup = other_cgroup;
    if (by_.needs_callers()) key.caller = other_caller;
  }
  return values_[key];
}

void SyscallTable::add(const Record& record) {
  if (record.schema->id == RECORD_SYSCALL_CALL)
    add_call(record.as<syscall_call>());
  else if (record.schema->id == RECORD_SYSCALL_CELL)
    add_cell(record.as<syscall_cell>());
  else if (record.schema->id == RECORD_SYSCALL_OPEN)
    add_open(record.as<syscall_open>());
}

void SyscallTable::add_open(const syscall_open& open) {
  const auto older = [](const syscall_open& a, const syscall_open& b) {
    return a.age_ns > b.age_ns;
  };
  if (open_.size() < rows_max) {
    open_.push_back(open);
    if (open_.size() == rows_max) std::make_heap(open_.begin(), open_.end(), older);
    return;
  }
  ++open_omitted_;
  if (!older(open, open_.front())) return;
  std::pop_heap(open_.begin(), open_.end(), older);
  open_.back() = open;
  std::push_heap(open_.begin(), open_.end(), older);
}

void SyscallTable::add_call(const syscall_call& call) {
  Value& row = value({call.abi, call.nr, call.caller}, call.header, {});
  ++calls_;
  row.late |= (call.flags & SYSCALL_LATE) != 0;
  if (call.flags & SYSCALL_REFUSED)
    ++row.refused;
  else if (call.flags & (SYSCALL_UNRETURNED | SYSCALL_UNTIMED))
    ++(call.flags & SYSCALL_UNTIMED ? row.untimed : row.unreturned);
  else
    row.latency.add(call.latency_ns);
  if (call.flags & (SYSCALL_UNRETURNED | SYSCALL_UNTIMED | SYSCALL_TRAPPED)) return;
  if (!is_error(call.ret)) return;
  ++row.errors;
  ++row.errnos[static_cast<u32>(-call.ret)];
}

void SyscallTable::add_cell(const syscall_cell& cell) {
  Value& row = value({cell.abi, cell.nr, cell.caller}, cell.header, cell.origin);
  calls_ += calls_of(cell);
  row.latency.merge(cell.latency);
  row.unreturned += cell.unreturned;
  row.failed += cell.failed;
  row.untimed += cell.untimed;
  row.refused += cell.refused;
  row.errors += cell.errors;
  row.late |= cell.late != 0;
  u64 kept = 0;
  for (const errno_count& slot : cell.errnos) {
    if (slot.code == 0 || slot.code > errno_max) continue;
    row.errnos[slot.code] += slot.count;
    kept += slot.count;
  }
  row.errnos[no_errno_kept] += cell.errors - std::min(kept, cell.errors);
}

void SyscallTable::Value::merge(const Value& other) {
  latency.merge(other.latency);
  unreturned += other.unreturned;
  failed += other.failed;
  errors += other.errors;
  late |= other.late;
  untimed += other.untimed;
  refused += other.refused;
  for (const auto& [code, count] : other.errnos) errnos[code] += count;
}

CallerName SyscallTable::caller_name(u32 caller, const Names& names) const {
  if (!by_.needs_callers()) return {};
  const auto found = names.callers.find(caller);
  CallerName name = found != names.callers.end() ? found->second
                    : caller == other_caller     ? CallerName{"(other)", "(other)"}
                                                 : CallerName{"[unknown]", "[unknown]"};
  if (!by_.library) name.library.clear();
  if (!by_.caller) name.function.clear();
  return name;
}

LatencyRow SyscallTable::named_row(const Key& key, const Names& names) const {
  LatencyRow row;
  row.name = key.nr == other_number ? std::string("(other)")
                                    : syscall_name(key.abi, static_cast<u32>(key.nr), names);
  row.id = key.nr == other_number ? 0 : static_cast<u32>(key.nr);
  if (by_.process) row.process = ProcessKey{key.pid, key.comm};
  if (by_.thread) row.thread = ThreadKey{key.tid, key.comm};
  if (!by_.has_owners()) return row;
  row.owner = key.owner;
  if (by_.cgroup) resolve_cgroup(*row.owner, names);
  if (by_.parent) row.owner->comm = key.owner.process;
  row.processes = processes_.count(key.owner);
  return row;
}

LatencyTable SyscallTable::table(const Names& names, Duration wall,
                                 const std::function<std::string(std::uint64_t)>& container) const {
  LatencyTable table{.title = "syscalls",
                     .by = by_,
                     .show_histograms = false,
                     .wall = wall,
                     .rows = {},
                     .unfinished = {}};
  // Many caller numbers may have one name, or one library.
  std::map<std::pair<Key, std::pair<std::string, std::string>>, Value> merged;
  for (const auto& [key, value] : values_) {
    CallerName name = caller_name(key.caller, names);
    Key without = key;
    without.caller = CALLER_NONE;
    merged[{without, {std::move(name.library), std::move(name.function)}}].merge(value);
  }
  for (const auto& [keys, value] : merged) {
    const auto& [key, caller] = keys;
    LatencyRow row = named_row(key, names);
    if (by_.container)
      row.container = key.cgroup == other_cgroup ? "(other)" : container(key.cgroup);
    if (by_.library) row.library = caller.first;
    if (by_.caller) row.caller = caller.second;
    row.latency = value.latency;
    row.unreturned = value.unreturned;
    row.failed = value.failed;
    row.errors = value.errors;
    row.errnos = name_errnos(value.errnos);
    row.late = value.late;
    row.untimed = value.untimed;
    row.refused = value.refused;
    table.rows.push_back(std::move(row));
  }
  table.unfinished = unfinished(names);
  return table;
}

std::vector<OpenSpan> SyscallTable::unfinished(const Names& names) const {
  std::vector<OpenSpan> spans;
  for (const syscall_open& open : open_)
    spans.push_back({syscall_name(open.abi, open.nr, names), open.header.tid,
                     std::string(fixed_text(open.header.comm)), open.age_ns,
                     (open.flags & SYSCALL_OLDER) != 0});
  return spans;
}

void SyscallTable::clear() {
  values_.clear();
  processes_.clear();
  open_.clear();
  open_omitted_ = 0;
}

}  // namespace overdue
