#include "resolve/sandboxed_resolver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>
#include <variant>
#include <vector>

#include "resolve/worker.h"

namespace overdue {
namespace {

namespace message = resolve_message;

constexpr unsigned max_files_of_stack = 4096;
constexpr unsigned blame_for_death = 1, blame_for_hang = 2;
constexpr unsigned refused_file = 2, refused_pid = 4;  // refused from this sum of blame on
constexpr std::size_t max_blamed = 1024;
constexpr std::size_t max_sent_spaces = 4096;

Fd as_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  Fd file(memfd_create("overdue", MFD_CLOEXEC));
  if (file && write(file.get(), bytes.data(), bytes.size()) != std::ssize(bytes)) file.reset();
  return file;
}

template <typename Answer>
std::optional<ResolvedStack> stack_of(std::optional<Answer> answer) {
  if (!answer) return std::nullopt;
  return std::move(answer->stack);
}

}  // namespace

SandboxedResolver::SandboxedResolver(ProcessImages& images, const Options& options,
                                     SandboxOptions sandbox)
    : Resolver(images, options),
      sandbox_(std::move(sandbox)),
      files_(images, sandbox_.fetch_debug_file),
      worker_(
          sandbox_.worker, [](PacketSocket& parent) { set_idle_timeout(parent); },
          [reader = sandbox_.reader.with_names(options.names),
           probe = sandbox_.probe](PacketSocket& parent) { serve_stacks(parent, reader, probe); }) {
}

SandboxedResolver::SandboxOptions SandboxedResolver::SandboxOptions::with_lines() {
  SandboxOptions options;
  options.reader.lines = true;
  options.worker.memory_bytes *= 2;
  options.patience *= 3;
  return options;
}

void SandboxedResolver::while_waiting(const std::function<void()>& meanwhile) {
  Resolver::while_waiting(meanwhile);
  child_.while_waiting(meanwhile);
  worker_.while_waiting(meanwhile);
}

bool SandboxedResolver::start() {
  if (child_) return true;
  if (sandbox_cost_.restarts > sandbox_.max_restarts) return false;
  sent_spaces_.clear();
  child_ = worker_.start();
  child_.while_waiting(meanwhile());
  return static_cast<bool>(child_);
}

void SandboxedResolver::end_child(Outcome outcome) {
  child_.reset();
  worker_.stop();
  ++sandbox_cost_.restarts;
  sandbox_cost_.timeouts += outcome == Outcome::timed_out;
}

std::optional<ResolvedStack> SandboxedResolver::read_user_stack(const ProcessImage& image,
                                                                pid_t pid,
                                                                const user_registers& registers,
                                                                const UserCopy& copy) {
  return stack_of(ask(image, pid,
                      message::encode(message::UserStack{
                          .space = image.id(), .registers = registers, .copy = copy})));
}

std::optional<FoundPython> SandboxedResolver::read_python(const ProcessImage& image, pid_t pid) {
  auto answer = ask(image, pid, message::encode(message::PythonOf{.space = image.id()}));
  if (!answer) return std::nullopt;
  return FoundPython{.support = answer->python.support,
                     .layout = {.runtime = answer->python.runtime}};
}

std::optional<std::vector<NamedThread>> SandboxedResolver::read_java_threads(
    const ProcessImage& image, pid_t pid, std::span<const NamedThread> cut) {
  auto answer = ask(image, pid,
                    message::encode(message::JavaThreadsOf{.space = image.id(),
                                                           .cut = {cut.begin(), cut.end()}}));
  if (!answer) return std::nullopt;
  return std::move(answer->java_threads);
}

std::optional<ResolvedStack> SandboxedResolver::read_recorded_stack(
    const ProcessImage& image, pid_t pid, std::span<const std::uint64_t> addresses) {
  return stack_of(
      ask(image, pid,
          message::encode(message::RecordedStack{
              .space = image.id(), .addresses = {addresses.begin(), addresses.end()}})));
}

// A child that died may have been killed from outside, so one more attempt; none after a timeout.
std::optional<SandboxedResolver::Answer> SandboxedResolver::ask(
    const ProcessImage& image, pid_t pid, std::span<const std::byte> request) {
  files_.set_process(&image, pid);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto blamed = blamed_pids_.find(pid);
    if (blamed != blamed_pids_.end() && blamed->second >= refused_pid) return std::nullopt;
    if (!start()) return std::nullopt;
    last_file_.reset();
    Answer answer;
    const Outcome outcome = exchange(image, request, answer);
    if (outcome == Outcome::done) return answer;
    end_child(outcome);
    blame(pid, outcome);
    if (outcome == Outcome::timed_out) break;
  }
  return std::nullopt;
}

void SandboxedResolver::blame(pid_t pid, Outcome outcome) {
  const unsigned blame = outcome == Outcome::timed_out ? blame_for_hang : blame_for_death;
  if (blamed_files_.size() > max_blamed) blamed_files_.clear();
  if (blamed_pids_.size() > max_blamed) blamed_pids_.clear();
  if (last_file_) {
    unsigned& sum = blamed_files_[*last_file_];
    if (sum < refused_file && sum + blame >= refused_file) ++sandbox_cost_.refused_files;
    sum += blame;
  } else {
    blamed_pids_[pid] += blame;
  }
}

SandboxedResolver::Outcome SandboxedResolver::exchange(const ProcessImage& image,
                                                       std::span<const std::byte> request,
                                                       Answer& to) {
  const KernelTime deadline = KernelClock::now() + sandbox_.patience;
  Outcome outcome = Outcome::unknown_space;
  for (int attempt = 0; attempt < 2 && outcome == Outcome::unknown_space; ++attempt) {
    if (!sent_spaces_.contains(image.id())) {
      const Outcome sent = send_space(image, deadline);
      if (sent != Outcome::done) return sent;
    }
    const auto sent = child_.send(request, {}, deadline);
    if (sent == PacketSocket::Result::timed_out) return Outcome::timed_out;
    if (sent != PacketSocket::Result::done) return Outcome::died;
    outcome = receive_answer(image, to, deadline);
    if (outcome == Outcome::unknown_space) sent_spaces_.erase(image.id());  // forgotten there
  }
  return outcome == Outcome::unknown_space ? Outcome::died : outcome;
}

SandboxedResolver::Outcome SandboxedResolver::send_space(const ProcessImage& image,
                                                         KernelTime deadline) {
  std::vector<Mapping> mappings;
  for (const auto& entry : image.entries()) mappings.push_back(entry.mapping);
  for (const auto& packet :
       message::encode_space(image.id(), static_cast<std::uint32_t>(image.pid()), mappings)) {
    const auto sent = child_.send(packet, {}, deadline);
    if (sent == PacketSocket::Result::timed_out) return Outcome::timed_out;
    if (sent != PacketSocket::Result::done) return Outcome::died;
  }
  if (sent_spaces_.size() >= max_sent_spaces) sent_spaces_.clear();
  sent_spaces_.insert(image.id());
  return Outcome::done;
}

SandboxedResolver::Outcome SandboxedResolver::receive_answer(const ProcessImage& image, Answer& to,
                                                             KernelTime deadline) {
  ResolvedStack& stack = to.stack;
  unsigned files = 0;
  while (true) {
    const auto received =
        child_.receive(message::max_bytes, PacketSocket::Descriptors::refused, deadline);
    if (received.result == PacketSocket::Result::timed_out) return Outcome::timed_out;
    auto packet = received.result == PacketSocket::Result::done
                      ? message::decode_to_parent(received.packet)
                      : std::nullopt;
    if (!packet) return Outcome::died;
    if (const auto* wanted = std::get_if<message::Wanted>(&*packet)) {
      const KernelTime asked_at = KernelClock::now();
      Fd file;
      std::uint32_t owner = 0;
      if (++files <= max_files_of_stack) file = wanted_file(image, *wanted, owner);
      deadline += KernelClock::now() - asked_at;  // the child did not cause this wait
      if (files > max_files_of_stack || !answer(std::move(file), owner, deadline))
        return Outcome::died;
      continue;
    }
    if (const auto* python = std::get_if<message::Python>(&*packet)) {
      to.python = *python;
      return Outcome::done;
    }
    if (auto* threads = std::get_if<message::JavaThreads>(&*packet)) {
      to.java_threads = std::move(threads->named);
      return Outcome::done;
    }
    auto& part = std::get<message::Frames>(*packet);
    if (part.status == message::Frames::Status::unknown_space) return Outcome::unknown_space;
    for (StackFrame& frame : part.stack.frames) stack.frames.push_back(std::move(frame));
    if (stack.frames.size() > message::max_frames) return Outcome::died;
    if (part.status == message::Frames::Status::more) continue;
    stack.end = part.stack.end;
    stack.end_module = std::move(part.stack.end_module);
    stack.unresolved = part.stack.unresolved;
    return stack.unresolved <= stack.frames.size() ? Outcome::done : Outcome::died;
  }
}

bool SandboxedResolver::answer(Fd file, std::uint32_t owner, KernelTime deadline) {
  if (const auto key = FileKey::of(file)) {
    const auto blamed = blamed_files_.find(*key);
    if (blamed != blamed_files_.end() && blamed->second >= refused_file)
      file.reset();
    else
      last_file_ = key;
  }
  sandbox_cost_.files += static_cast<bool>(file);
  const message::File reply{.is_there = static_cast<bool>(file), .owner = owner};
  return child_.send(message::encode(reply), file, deadline) == PacketSocket::Result::done;
}

// Opens only files of mappings that were sent: the child names a mapping and cannot describe one.
Fd SandboxedResolver::wanted_file(const ProcessImage& image, const message::Wanted& wanted,
                                  std::uint32_t& owner) {
  using What = message::Wanted::What;
  const auto* entry = image.find(wanted.mapping);
  switch (wanted.what) {
    case What::mapped_file:
      return entry ? files_.mapped_file(entry->mapping) : Fd();
    case What::vdso:
      return entry && entry->mapping.path == "[vdso]" ? as_file(files_.vdso(entry->mapping)) : Fd();
    case What::debug_file:
      return files_.debug_file(wanted.path);
    case What::memory:
      return files_.memory();
    case What::perf_map: {
      PerfMap::File file = files_.perf_map();
      owner = file.owner;
      return std::move(file.fd);
    }
  }
  return {};
}

bool SandboxedResolver::probe(std::uint32_t what) {
  if (!start()) return false;
  const KernelTime deadline = KernelClock::now() + sandbox_.patience;
  Answer answer;
  Outcome outcome = Outcome::died;
  if (child_.send(message::encode(message::Probe{.what = what}), {}, deadline) ==
      PacketSocket::Result::done)
    outcome = receive_answer(ProcessImage(0), answer, deadline);
  if (outcome != Outcome::done) end_child(outcome);
  return outcome == Outcome::done;
}

}  // namespace overdue
