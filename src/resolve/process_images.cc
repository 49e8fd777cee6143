#include "resolve/process_images.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>

namespace overdue {
namespace {

using Kind = ProcessEvent::Kind;

constexpr std::string_view deleted_mark = " (deleted)";

/// The mapping of an event, as /proc/PID/maps would show it.
Mapping mapping_of(const ProcessEvent& event) {
  Mapping mapping{.start = event.start,
                  .end = event.end,
                  .file_offset = event.file_offset,
                  .device_major = event.device_major,
                  .device_minor = event.device_minor,
                  .inode = event.inode,
                  .is_executable = event.is_executable,
                  .path = event.text};
  if (mapping.path.starts_with("//")) mapping.path = {};  // "//anon", "//enomem", "//toolong"
  mapping.is_deleted = mapping.path.ends_with(deleted_mark);
  if (mapping.is_deleted) mapping.path.remove_suffix(deleted_mark.size());
  if (mapping.path.empty()) mapping.file_offset = 0;  // events give the address of the page
  return mapping;
}

/// Whether `image` has this mapping of this file: the kernel may report a mapping more than once.
/// /proc gives no generation, so the report of a mapping that was read from /proc counts as a new
/// mapping.
bool is_known(const ProcessImage& image, const Mapping& mapping, std::uint64_t inode_generation) {
  if (!image.has(mapping)) return false;
  return !mapping.is_file() || image.find(mapping.start)->inode_generation == inode_generation;
}

std::optional<std::uint64_t> inode_generation_of(const Fd& file) {
  std::uint32_t generation = 0;
  if (ioctl(file.get(), FS_IOC_GETVERSION, &generation) != 0) return std::nullopt;
  return generation;
}

/// The latest time at which the file can have been created: file systems record that to a tick, or
/// not at all.
std::optional<KernelTime> birth_of(const Fd& file) {
  struct statx status{};
  if (statx(file.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BTIME, &status) != 0 ||
      !(status.stx_mask & STATX_BTIME))
    return std::nullopt;
  // Signed, unlike Duration: the file may be older than the machine's start, or the clock may have
  // been set back since.
  const auto since_1970 = std::chrono::seconds(status.stx_btime.tv_sec) +
                          std::chrono::nanoseconds(status.stx_btime.tv_nsec);
  const std::chrono::nanoseconds age =
      std::chrono::system_clock::now().time_since_epoch() - since_1970;
  if (age < std::chrono::nanoseconds::zero()) return std::nullopt;
  timespec tick{};
  clock_getres(CLOCK_REALTIME_COARSE, &tick);
  const Duration up = KernelClock::now().time_since_epoch();
  return KernelTime(up - std::min(up, Duration(static_cast<std::uint64_t>(age.count())))) +
         std::chrono::nanoseconds(tick.tv_nsec);
}

}  // namespace

/// An image whose mappings are counted as long as it is referenced.
struct ProcessImages::Counted {
  Counted(ProcessImage of, std::shared_ptr<std::size_t> all)
      : image(std::move(of)), total(std::move(all)) {
    count();
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { *total -= counted; }
  void count() {
    *total += image.entries().size() - counted;
    counted = image.entries().size();
  }
  ProcessImage image;
  std::shared_ptr<std::size_t> total;
  std::size_t counted = 0;
};

ProcessImages::ProcessImages(Options options)
    : options_(std::move(options)),
      files_(options_.max_kept_files),
      mappings_(std::make_shared<std::size_t>(0)) {
  if (!options_.read_maps) options_.read_maps = ProcessMaps::read;
  if (!options_.open_mapped) options_.open_mapped = open_mapped_file;
  if (!options_.born) options_.born = birth_of;
  if (!options_.now) options_.now = KernelClock::now;
}

void ProcessImages::handle(const ProcessEvent& event) {
  if (event.pid <= 0 && event.kind != Kind::lost) return;  // outside Overdue's pid namespace
  switch (event.kind) {
    case Kind::mapping:
      return on_mapping(event);
    case Kind::exec:
      return on_exec(event);
    case Kind::fork:
      return on_fork(event);
    case Kind::exit:
      return on_exit(event);
    case Kind::lost:
      lost_events_ += event.lost_events;
      ++losses_;
      return;
    case Kind::name:
      return;
  }
}

void ProcessImages::on_mapping(const ProcessEvent& event) {
  Process* process = known(event.pid);
  if (!process || !process->image) return;  // the process is read when asked for
  const Mapping mapping = mapping_of(event);
  if (!mapping.is_executable) return;  // a stale code mapping does no harm
  if (mapping.path.empty()) perf_maps_.heard_of(event.pid, event.time);
  if (event.time <= process->known_at) return on_earlier_mapping(*process, mapping, event.time);
  if (is_known(process->image->image, mapping, event.inode_generation)) return;
  // Stacks of the code that was here before may still come.
  if (process->image->image.changes_names(mapping))
    keep_past(*process, worth_keeping(*process, event.time), event.time);
  ProcessImage& image = writable(event.pid, *process);
  ProcessImage::Entry* entry =
      image.add(mapping, event.time, event.build_id, event.inode_generation);
  process->image->count();
  if (entry && process->is_target) entry->file = files_.keep(opened(event.pid, *entry));
  make_room(event.pid);
}

/// The maps were read after this event. The mapping before the event is unknown.
void ProcessImages::on_earlier_mapping(Process& process, const Mapping& mapping, KernelTime time) {
  const auto without = [&](const Image& image) {
    ProcessImage rest = image->image;
    rest.make_room(mapping.start, mapping.end);
    const pid_t pid = rest.pid();
    return made_image(pid, std::move(rest));
  };
  const Image then = image_at(process, time);
  if (!then || !then->image.changes_names(mapping)) return;
  for (Past& past : process.past)
    if (past.until <= time && past.image && past.image->image.changes_names(mapping))
      past.image = without(past.image);
  keep_past(process, without(then), time);
}

void ProcessImages::on_exec(const ProcessEvent& event) {
  Process& process = made(event.pid);
  if (event.time <= process.known_at) return keep_past(process, nullptr, event.time);
  move_to_past(process, event.time);
  perf_maps_.forget(event.pid);
  process.ended_at.reset();
  touch(process);
  process.image = made_image(event.pid, ProcessImage(event.pid));
  process.known_at = process.exec_at = event.time;
  process.losses = losses_;
  process.forked_from = 0;
  process.was_read = false;
  make_room(event.pid);
}

void ProcessImages::on_fork(const ProcessEvent& event) {
  if (event.pid == event.parent_pid) return;  // a thread
  Process& process = made(event.pid);
  if (event.time <= process.known_at) return keep_past(process, nullptr, event.time);
  if (process.image || process.ended_at) move_to_past(process, event.time);  // the id was reused
  perf_maps_.forget(event.pid);
  process.ended_at.reset();
  process.was_read = process.is_target = false;
  touch(process);
  Process* parent = known(event.parent_pid);
  process.is_target = parent && parent->is_target;
  process.image = parent ? parent->image : nullptr;
  process.losses = parent ? parent->losses : losses_;
  process.known_at = event.time;
  process.forked_from = process.image ? 0 : event.parent_pid;
  process.forked_at = process.exec_at = event.time;
  make_room(event.pid);
}

// The first thread may end before the others: later events of the process still count.
void ProcessImages::on_exit(const ProcessEvent& event) {
  Process* process = event.pid == event.tid ? known(event.pid) : nullptr;
  if (!process || event.time <= process->known_at) return;
  process->ended_at = event.time;
  touch(*process);
  while (!ended_.empty()) {
    const auto oldest = processes_.find(ended_.back());
    const KernelTime ended = oldest->second.ended_at.value_or(event.time);
    if (ended_.size() <= options_.max_ended && event.time - ended < options_.ended_kept) break;
    forget(oldest);
  }
}

/// The present image, or null if keeping it would cost too much: a kept image is copied at the next
/// change, and a process can change its mappings faster than Overdue copies them.
ProcessImages::Image ProcessImages::worth_keeping(const Process& process, KernelTime until) const {
  if (process.image->image.entries().size() > options_.max_past_mappings) return nullptr;
  const auto last = std::find_if(process.past.rbegin(), process.past.rend(),
                                 [](const Past& past) { return past.image != nullptr; });
  const bool is_close = last != process.past.rend() && until < last->until + options_.past_apart;
  return is_close ? nullptr : process.image;
}

/// Beyond the bound, the oldest images become unknown.
void ProcessImages::keep_past(Process& process, Image image, KernelTime until) {
  std::vector<Past>& past = process.past;
  if (!image && !past.empty() && !past.back().image && past.back().until <= until) {
    past.back().until = until;
    return;
  }
  const auto at =
      std::upper_bound(past.begin(), past.end(), until,
                       [](KernelTime time, const Past& other) { return time < other.until; });
  past.insert(at, {std::move(image), until});
  if (past.size() <= options_.max_past) return;
  past.erase(past.begin());
  past.front().image = nullptr;
}

void ProcessImages::move_to_past(Process& process, KernelTime until) {
  if (process.image) keep_past(process, std::exchange(process.image, nullptr), until);
}

void ProcessImages::add_target(pid_t pid) {
  Process& process = made(pid);
  const bool was_target = std::exchange(process.is_target, true);
  if (!process.image) read(pid, process);
  if (!was_target && process.image) keep_files(pid, process);
  make_room(pid);
}

std::shared_ptr<const ProcessImage> ProcessImages::image_of(pid_t pid, KernelTime at) {
  Process& process = made(pid);
  Image image;
  if (const Past* past = past_at(process, at)) {
    image = past->image;
  } else {
    const bool is_stale = process.losses != losses_;
    if ((!process.image && !process.was_read) || is_stale) read(pid, process);
    if (!process.image) process.image = inherited(process);
    image = process.image;
  }
  make_room(pid);
  if (!image) return nullptr;
  return {image, &image->image};
}

Fd ProcessImages::open(const ProcessImage& image, const Mapping& mapping, pid_t pid) {
  const ProcessImage::Entry* entry = image.find(mapping.start);
  if (!entry) return {};
  if (entry->file)
    if (Fd fd = entry->file->fd.duplicate()) return fd;
  Fd fd = opened(pid, *entry);
  if (!fd && image.pid() != pid) fd = opened(image.pid(), *entry);
  return fd;
}

/// File systems reuse inode numbers, with another generation. If the generation is unknown, a file
/// that may be younger than the mapping counts as another file.
Fd ProcessImages::opened(pid_t pid, const ProcessImage::Entry& entry) const {
  Fd fd = options_.open_mapped(pid, entry.mapping);
  if (!fd) return fd;
  const auto generation = inode_generation_of(fd);
  if (entry.inode_generation != 0 && generation)
    return *generation == entry.inode_generation ? std::move(fd) : Fd();
  const auto born = options_.born(fd);
  return born && *born > entry.known_at ? Fd() : std::move(fd);
}

bool ProcessImages::was_read_later(pid_t pid, KernelTime at) const {
  const auto found = processes_.find(pid);
  return found != processes_.end() && found->second.was_read && found->second.known_at > at;
}

ProcessImages::Process& ProcessImages::made(pid_t pid) {
  const auto [found, is_new] = processes_.try_emplace(pid);
  Process& process = found->second;
  if (is_new) {
    process.order = running_.insert(running_.begin(), pid);
    process.losses = losses_;
  } else {
    touch(process);
  }
  return process;
}

ProcessImages::Process* ProcessImages::known(pid_t pid) {
  const auto found = processes_.find(pid);
  return found != processes_.end() ? &found->second : nullptr;
}

void ProcessImages::touch(Process& process) {
  std::list<pid_t>& from = process.is_in_ended ? ended_ : running_;
  process.is_in_ended = process.ended_at.has_value();
  std::list<pid_t>& to = process.is_in_ended ? ended_ : running_;
  to.splice(to.begin(), from, process.order);
}

void ProcessImages::forget(Processes::iterator process) {
  (process->second.is_in_ended ? ended_ : running_).erase(process->second.order);
  processes_.erase(process);
}

void ProcessImages::make_room(pid_t used_last) {
  while (true) {
    const bool has_many = *mappings_ > options_.max_mappings;
    if (!has_many && running_.size() <= options_.max_processes) return;
    const std::list<pid_t>& list = has_many && !ended_.empty() ? ended_ : running_;
    if (list.empty() || list.back() == used_last) return;
    forget(processes_.find(list.back()));
  }
}

// A process that has ended is not read: another process may have its number by now.
void ProcessImages::read(pid_t pid, Process& process) {
  process.losses = losses_;
  process.was_read = true;
  if (process.ended_at) return;
  const KernelTime before = options_.now();
  ++reads_;
  const auto maps = options_.read_maps(pid);
  if (!maps || maps->all().empty()) return;  // a zombie has no mappings
  if (process.image) {  // after lost events: mappings before and now were there in between, too
    ProcessImage common = process.image->image;
    common.keep_common(ProcessImage(pid, *maps, before));
    keep_past(process, made_image(pid, std::move(common)), before);
  }
  process.image = made_image(pid, ProcessImage(pid, *maps, before));
  process.known_at = before;
  if (process.is_target) keep_files(pid, process);
}

const ProcessImages::Past* ProcessImages::past_at(const Process& process, KernelTime at) {
  for (const Past& past : process.past)
    if (at < past.until) return &past;
  return nullptr;
}

ProcessImages::Image ProcessImages::image_at(const Process& process, KernelTime at) {
  if (const Past* past = past_at(process, at)) return past->image;
  return process.exec_at <= at ? process.image : nullptr;
}

// A forked process that ended before it was read had the mappings of its parent.
ProcessImages::Image ProcessImages::inherited(const Process& process) {
  const Process* child = &process;
  constexpr int max_generations = 8;
  for (int i = 0; i < max_generations && child->forked_from != 0; ++i) {
    const pid_t pid = child->forked_from;
    const KernelTime at = child->forked_at;
    Process* parent = known(pid);
    if (!parent) parent = &made(pid);
    if (auto image = image_at(*parent, at)) return image;
    if (parent->exec_at > at) return nullptr;
    if (!parent->was_read) read(pid, *parent);
    if (parent->image) return parent->image;
    child = parent;
  }
  return nullptr;
}

ProcessImages::Image ProcessImages::made_image(pid_t pid, ProcessImage image) {
  image.set_identity(pid, ++last_id_);
  return std::make_shared<Counted>(std::move(image), mappings_);
}

ProcessImage& ProcessImages::writable(pid_t pid, Process& process) {
  if (process.image.use_count() > 1)
    process.image = std::make_shared<Counted>(process.image->image, mappings_);
  process.image->image.set_identity(pid, ++last_id_);
  return process.image->image;
}

void ProcessImages::keep_files(pid_t pid, Process& process) {
  process.image->image.keep_files(
      [&](const ProcessImage::Entry& entry) { return files_.keep(opened(pid, entry)); });
}

ProcessImages::Cost ProcessImages::cost() const {
  return {.reads = reads_,
          .processes = processes_.size(),
          .mappings = *mappings_,
          .kept_files = files_.size(),
          .lost_events = lost_events_};
}

}  // namespace overdue
