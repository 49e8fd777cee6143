#include "resolve/resolver.h"

#include <algorithm>
#include <future>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/signals_blocked.h"
#include "base/text.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

constexpr Duration first_rest = 10s;
constexpr Duration meanwhile_every = 5ms;
constexpr std::size_t max_frames = 512;

/// No image of a process has this id.
constexpr std::uint64_t kernel_image = 0;

}  // namespace

std::size_t Resolver::Hash::operator()(const std::vector<std::uint64_t>& words) const {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

Resolver::Resolver(ProcessImages& images, Options options)
    : images_(images), options_(std::move(options)), known_(options_.names) {
  if (!options_.read_kernel_symbols)
    options_.read_kernel_symbols = [] { return KernelSymbols::read(); };
}

ResolvedStack Resolver::user_stack(pid_t pid, const user_registers& registers, const UserCopy& from,
                                   KernelTime at) {
  const auto image = images_.image_of(pid, at);
  if (!image) {
    ++cost_.unknown_processes;
    return counted(without_names(nullptr, std::span(&registers.rip, 1), StackEnd::no_process));
  }
  UserCopy copy = from;
  copy.stack = copy.stack.first(std::min(copy.stack.size(), max_copy_bytes));
  const bool is_native = copy.python.empty();
  if (options_.remember_frames && is_native)
    if (auto known = known_.find(image->id(), registers, copy.stack)) {
      ++cost_.from_cache;
      return counted(std::move(*known));
    }
  auto stack = read_user_stack(*image, pid, registers, copy);
  if (!stack) {
    ++cost_.failed;
    return counted(without_names(image.get(), std::span(&registers.rip, 1), StackEnd::failed));
  }
  complete(*image, *stack);
  if (options_.remember_frames && is_native) known_.learn(image->id(), registers, *stack);
  return counted(std::move(*stack));
}

FoundPython Resolver::python_of(pid_t pid) {
  const auto image = images_.image_of(pid);
  if (!image || !options_.names || std::ranges::none_of(image->entries(), [](const auto& entry) {
        return may_be_python(entry.mapping);
      }))
    return {};
  const auto found = read_python(*image, pid);
  cost_.failed += !found;
  return found.value_or(FoundPython{.support = PythonSupport::unreadable});
}

bool Resolver::runs_java(pid_t pid) {
  const auto image = images_.image_of(pid);
  return image && std::ranges::any_of(image->entries(),
                                      [](const auto& entry) { return may_be_jvm(entry.mapping); });
}

std::vector<NamedThread> Resolver::java_thread_names(pid_t pid, std::span<const NamedThread> cut) {
  const auto image = images_.image_of(pid);
  if (!image) return {};
  auto named = read_java_threads(*image, pid, cut);
  cost_.failed += !named;
  return std::move(named).value_or(std::vector<NamedThread>());
}

ResolvedStack Resolver::raw_user_stack(pid_t pid, std::span<const std::uint64_t> addresses,
                                       KernelTime at) {
  const auto image = images_.image_of(pid, at);
  if (!image) {
    ++cost_.unknown_processes;
    return counted(without_names(nullptr, addresses, StackEnd::no_process));
  }
  std::vector<std::uint64_t> key(addresses.begin(), addresses.end());
  key.push_back(image->id());
  if (const ResolvedStack* known = kept(key)) return counted(*known);
  auto stack = read_recorded_stack(*image, pid, addresses);
  if (!stack) {
    ++cost_.failed;
    return counted(without_names(image.get(), addresses, StackEnd::failed));
  }
  complete(*image, *stack);
  // Generated code may soon have another name.
  if (std::ranges::none_of(stack->frames, [](const StackFrame& frame) {
        return frame.is_jit || (frame.name.empty() && frame.build_id.empty());
      }))
    keep(std::move(key), *stack);
  return counted(std::move(*stack));
}

ResolvedStack Resolver::kernel_stack(std::span<const std::uint64_t> addresses) {
  std::vector<std::uint64_t> key(addresses.begin(), addresses.end());
  key.push_back(kernel_image);
  if (const ResolvedStack* known = kept(key)) return counted(*known);
  ResolvedStack stack{.end = StackEnd::recorded};
  for (const std::uint64_t address : addresses.first(std::min(addresses.size(), max_frames))) {
    stack.frames.push_back(kernel_frame(address, !stack.frames.empty()));
    stack.unresolved += stack.frames.back().name.empty();
  }
  if (stack.unresolved == 0) keep(std::move(key), stack);
  return counted(std::move(stack));
}

StackFrame Resolver::kernel_frame(std::uint64_t address, bool is_return_address) {
  StackFrame frame{.address = address, .module = "[kernel]", .offset = address, .is_kernel = true};
  const std::uint64_t back = is_return_address && address > 0 ? 1 : 0;
  if (!kernel_) read_kernel_symbols();
  auto found = kernel_->find(address - back);
  if (!found && KernelClock::now() - kernel_read_at_ > kernel_rest_) {
    read_kernel_symbols();  // a module may have been loaded
    found = kernel_->find(address - back);
  }
  if (!found) return frame;
  frame.name = made_printable(printable(found->symbol.name), 4096);
  frame.offset = found->symbol.offset + back;
  if (!found->module.empty()) frame.module = "[" + printable(found->module) + "]";
  return frame;
}

// The kernel needs 0.1 s to write its list, and seconds on a slow machine: rings fill in that time.
KernelSymbols Resolver::kernel_symbols() {
  if (!reading_.valid() && meanwhile_) read_ahead();
  if (!reading_.valid()) return options_.read_kernel_symbols();
  while (meanwhile_ && reading_.wait_for(meanwhile_every) != std::future_status::ready)
    meanwhile_();
  return reading_.get();
}

void Resolver::read_ahead() {
  const SignalsBlocked blocked;
  try {
    reading_ = std::async(std::launch::async, options_.read_kernel_symbols);
  } catch (const std::system_error&) {
    // No thread is available: the symbols are read at the first kernel stack.
  }
}

void Resolver::read_kernel_symbols() {
  try {
    kernel_ = std::make_unique<KernelSymbols>(kernel_symbols());
  } catch (const Error&) {
    if (!kernel_) kernel_ = std::make_unique<KernelSymbols>();  // frames then have no names
  }
  kernel_read_at_ = KernelClock::now();
  kernel_rest_ = std::max(first_rest, kernel_rest_ * 2);
}

ResolvedStack Resolver::without_names(const ProcessImage* image,
                                      std::span<const std::uint64_t> addresses, StackEnd end) {
  ResolvedStack stack{.end = end};
  for (const std::uint64_t address : addresses.first(std::min(addresses.size(), max_frames))) {
    const std::uint64_t back = !stack.frames.empty() && address > 0 ? 1 : 0;
    StackFrame frame{.address = address, .offset = address};
    if (const auto* entry = image ? image->find(address - back) : nullptr) {
      const Mapping& mapping = entry->mapping;
      frame.module =
          mapping.path.empty() ? "[anon]" : made_printable(printable(mapping.path), 4096);
      frame.offset = address - mapping.start + mapping.file_offset;
      frame.build_id = entry->build_id;
    }
    stack.unresolved += options_.names || frame.module.empty();
    stack.frames.push_back(std::move(frame));
  }
  return stack;
}

// If the file could not be opened, the kernel may have reported its build id.
void Resolver::complete(const ProcessImage& image, ResolvedStack& stack) const {
  for (StackFrame& frame : stack.frames) {
    if (!frame.build_id.empty() || frame.is_jit || frame.module.empty()) continue;
    if (const auto* entry = image.find(frame.address)) frame.build_id = entry->build_id;
  }
}

ResolvedStack Resolver::counted(ResolvedStack stack) {
  ++cost_.stacks;
  cost_.frames += stack.frames.size();
  cost_.unresolved += stack.unresolved;
  return stack;
}

const ResolvedStack* Resolver::kept(const std::vector<std::uint64_t>& key) {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return nullptr;
  ++cost_.from_cache;
  return &found->second;
}

void Resolver::keep(std::vector<std::uint64_t> key, const ResolvedStack& stack) {
  if (kept_.size() >= options_.max_kept_stacks) kept_.clear();
  kept_.emplace(std::move(key), stack);
}

}  // namespace overdue
