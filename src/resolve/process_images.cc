#include "resolve/process_images.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace overdue {
namespace {

using Kind = ProcessEvent::Kind;

constexpr std::string_view deleted_mark = " (deleted)";

/// What /proc/PID/maps would say of it.
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
  if (mapping.path.empty()) mapping.file_offset = 0;  // events have the address of its page
  return mapping;
}

}  // namespace

/// An image whose mappings are counted as long as anybody holds it.
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
      files_(options_.most_kept_files),
      mappings_(std::make_shared<std::size_t>(0)) {
  if (!options_.read_maps) options_.read_maps = ProcessMaps::read;
  if (!options_.open_mapped) options_.open_mapped = open_mapped_file;
  if (!options_.now) options_.now = KernelClock::now;
}

void ProcessImages::handle(const ProcessEvent& event) {
  if (event.pid <= 0 && event.kind != Kind::lost) return;  // in no namespace of ours
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
  if (!process || event.time <= process->known_at) return;
  if (!process->image) return;  // it is read when asked for
  const Mapping mapping = mapping_of(event);
  // Memory that lost its code is not told, and does no harm.
  if (!mapping.is_executable || process->image->image.has(mapping)) return;
  ProcessImage& image = writable(event.pid, *process);
  ProcessImage::Entry* entry = image.add(mapping, event.build_id);
  process->image->count();
  if (entry && process->is_target)
    entry->file = files_.keep(options_.open_mapped(event.pid, entry->mapping));
  make_room(event.pid);
}

void ProcessImages::on_exec(const ProcessEvent& event) {
  Process& process = made(event.pid);
  if (event.time <= process.known_at) return;
  move_to_past(process, event.time);
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
  if (event.time <= process.known_at) return;
  if (process.image || process.ended_at) move_to_past(process, event.time);  // another one's number
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

// The first thread may end before the others: what else happens to the process still counts.
void ProcessImages::on_exit(const ProcessEvent& event) {
  Process* process = event.pid == event.tid ? known(event.pid) : nullptr;
  if (!process || event.time <= process->known_at) return;
  process->ended_at = event.time;
  touch(*process);
  while (!ended_.empty()) {
    const auto oldest = processes_.find(ended_.back());
    const KernelTime ended = oldest->second.ended_at.value_or(event.time);
    if (ended_.size() <= options_.most_ended && event.time - ended < options_.ended_kept) break;
    forget(oldest);
  }
}

void ProcessImages::move_to_past(Process& process, KernelTime until) {
  if (!process.image) return;
  process.past.push_back({std::move(process.image), until});
  process.image = nullptr;
  if (process.past.size() > options_.most_past) process.past.erase(process.past.begin());
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
  for (const Past& past : process.past)
    if (!image && at < past.until) image = past.image;
  if (!image) {
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
  if (entry && entry->file)
    if (Fd fd = entry->file->fd.duplicate()) return fd;
  Fd fd = options_.open_mapped(pid, mapping);
  if (!fd && image.pid() != pid) fd = options_.open_mapped(image.pid(), mapping);
  return fd;
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
    const bool has_many = *mappings_ > options_.most_mappings;
    if (!has_many && running_.size() <= options_.most_processes) return;
    const std::list<pid_t>& list = has_many && !ended_.empty() ? ended_ : running_;
    if (list.empty() || list.back() == used_last) return;
    forget(processes_.find(list.back()));
  }
}

// Of a process that ended, another one may have the number by now.
void ProcessImages::read(pid_t pid, Process& process) {
  process.losses = losses_;
  process.was_read = true;
  if (process.ended_at) return;
  const KernelTime before = options_.now();
  ++reads_;
  const auto maps = options_.read_maps(pid);
  if (!maps || maps->all().empty()) return;  // it has none any more when it is a zombie
  process.image = made_image(pid, ProcessImage(pid, *maps));
  process.known_at = before;
  if (process.is_target) keep_files(pid, process);
}

ProcessImages::Image ProcessImages::image_at(const Process& process, KernelTime at) {
  for (const Past& past : process.past)
    if (at < past.until) return past.image;
  return process.exec_at <= at ? process.image : nullptr;
}

// A forked process that was gone before it was asked for had what its parent had.
ProcessImages::Image ProcessImages::inherited(const Process& process) {
  const Process* child = &process;
  constexpr int most_generations = 8;
  for (int i = 0; i < most_generations && child->forked_from != 0; ++i) {
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
      [&](const Mapping& mapping) { return files_.keep(options_.open_mapped(pid, mapping)); });
}

ProcessImages::Cost ProcessImages::cost() const {
  return {.reads = reads_,
          .processes = processes_.size(),
          .mappings = *mappings_,
          .kept_files = files_.size(),
          .lost_events = lost_events_};
}

}  // namespace overdue
