#include "report/profile/profile.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::string_view name_of_others = "(other)";
constexpr std::string_view no_stack = "[no stack]";
constexpr std::size_t words_before_frames = 2;

FrameKind kind_of(const ProfiledFunction& function) {
  if (function.name.empty() || function.name == name_of_others || function.name == no_stack)
    return FrameKind::unknown;
  return function.is_kernel ? FrameKind::kernel : FrameKind::user;
}

/// The `most` first of `all` (0: all of them) by `is_before`, sorted.
template <typename T, typename F>
void keep_first(std::vector<T>& all, std::size_t most, F is_before) {
  const std::size_t kept = most == 0 ? all.size() : std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    is_before);
  all.resize(kept);
}

}  // namespace

std::string to_text(const ProfiledFunction& function) {
  if (!function.name.empty()) return function.name;
  if (function.module.empty()) return "[unknown]";
  if (function.module.starts_with('[')) return function.module;
  return fmt::format("[{}]", function.module.substr(function.module.rfind('/') + 1));
}

Profile::Profile(Whose by, const Limits& limits) : by_(by), limits_(limits) {
  number_of({name_of_others, {}, false});  // number 0
}

void Profile::count_owner(const profile_sample& sample, const Owner& key) {
  processes_.add(key, sample.header.pid, sample.origin.start_ns);
  const bool has_room = owners_.contains(key) || owners_.size() < limits_.threads;
  const Owner kept = has_room ? key : key_of(other_owner(), by_);
  ProfiledThread& row = owners_[kept];
  if (++row.samples == 1) row.owner = kept;
}

void Profile::count_thread(const profile_sample& sample) {
  std::pair key{sample.header.pid, sample.header.tid};
  if (!threads_.contains(key) && threads_.size() >= limits_.threads) key = {0, 0};
  ProfiledThread& thread = threads_[key];
  ++thread.samples;
  thread.pid = key.first;
  thread.tid = key.second;
  thread.comm = key.second ? fixed_text(sample.header.comm) : name_of_others;
  thread.process = key.second ? fixed_text(sample.process) : name_of_others;
}

std::uint32_t Profile::number_of(const FunctionName& function) {
  if (const auto known = function_numbers_.find(function); known != function_numbers_.end())
    return known->second;
  if (functions_.size() >= limits_.functions) return 0;
  const auto number = static_cast<std::uint32_t>(functions_.size());
  const ProfiledFunction& added =
      functions_.emplace_back(ProfiledFunction{.name = std::string(function.name),
                                               .module = std::string(function.module),
                                               .is_kernel = function.is_kernel});
  counted_.push_back(0);
  function_numbers_.emplace(FunctionName{added.name, added.module, added.is_kernel}, number);
  return number;
}

/// What stacks are kept apart by.
Owner Profile::root_owner(const Owner& owner) const {
  if (has_owners()) return key_of(owner, by_);
  Owner root;
  if (by_ == Whose::thread)
    root.comm = owner.comm;
  else
    root.process = owner.process;
  return root;
}

std::string Profile::root_text(const Owner& root) const {
  if (has_owners()) return owner_text(root, by_, 0);
  return by_ == Whose::thread ? root.comm : root.process;
}

std::uint32_t Profile::root_of(Owner root) {
  if (const auto known = root_numbers_.find(root); known != root_numbers_.end())
    return known->second;
  if (roots_.size() >= limits_.roots) root = root_owner(other_owner());
  const auto [found, is_new] =
      root_numbers_.try_emplace(root, static_cast<std::uint32_t>(roots_.size()));
  if (is_new) roots_.push_back(std::move(root));
  return found->second;
}

void Profile::resolve_names(const Names& names) {
  for (auto& [key, thread] : threads_) {
    // A thread of the kernel is a process too.
    thread.comm = full_name(names, thread.tid, thread.comm, QueueOfWork::shown);
    thread.process = full_name(names, thread.pid, thread.process, QueueOfWork::shown);
  }
  if (by_ != Whose::cgroup) return;
  for (Owner& root : roots_) resolve_cgroup(root, names);
  for (auto& [key, thread] : owners_)
    if (thread.owner) resolve_cgroup(*thread.owner, names);
}

void Profile::append(const Stack& stack) {
  for (const StackFrame& frame : stack)
    words_.push_back(number_of({frame.name, frame.module, frame.is_kernel}));
}

/// A recursion counts once: `counted_` has the last sample of each function.
void Profile::count_functions() {
  const std::span frames = std::span(words_).subspan(words_before_frames);
  ++functions_[frames.front()].self;
  for (const std::uint32_t function : frames)
    if (std::exchange(counted_[function], samples_) != samples_) ++functions_[function].total;
}

void Profile::add(const profile_sample& sample, const Stack& kernel,
                  const StackNamer::UserStack& user) {
  ++samples_;
  if (!kernel.empty()) ++kernel_samples_;
  const bool is_cut = !user.end.empty();
  if (is_cut) ++cut_;
  Owner owner = owner_of(sample.header, sample.origin);
  owner.process = fixed_text(sample.process);
  if (!has_owners()) {
    owner.comm = full_name(names_, owner.tid, owner.comm, QueueOfWork::left_out);
    owner.process = full_name(names_, owner.pid, owner.process, QueueOfWork::left_out);
  }
  Owner root = root_owner(owner);
  if (has_owners())
    count_owner(sample, root);
  else
    count_thread(sample);
  words_.assign({root_of(std::move(root)), is_cut ? 1u : 0u});
  append(kernel);
  append(user.frames);
  if (words_.size() == words_before_frames) words_.push_back(number_of({no_stack, {}, false}));
  count_functions();
  if (!stacks_.contains(words_)) {
    if (stack_words_ + words_.size() > limits_.stack_words) {
      ++merged_;
      words_.assign({words_[0], 0, 0});
    }
    stack_words_ += words_.size();
  }
  ++stacks_[words_];
}

std::vector<ProfiledThread> Profile::threads() const {
  std::vector<ProfiledThread> all;
  for (const auto& [key, thread] : threads_) all.push_back(thread);
  for (const auto& [key, thread] : owners_) {
    all.push_back(thread);
    all.back().processes = processes_.count(key);
  }
  std::ranges::sort(all, [](const ProfiledThread& one, const ProfiledThread& other) {
    return std::tie(other.samples, one.pid, one.tid, one.owner) <
           std::tie(one.samples, other.pid, other.tid, other.owner);
  });
  return all;
}

std::vector<ProfiledFunction> Profile::ranked_functions() const {
  std::vector<ProfiledFunction> all(functions_.begin(), functions_.end());
  std::erase_if(all, [](const ProfiledFunction& function) { return function.total == 0; });
  std::ranges::sort(all, [](const ProfiledFunction& one, const ProfiledFunction& other) {
    return std::tie(other.self, other.total, one.name, one.module) <
           std::tie(one.self, one.total, other.name, other.module);
  });
  return all;
}

ProfiledStack Profile::stack_of(const Words& words, std::uint64_t samples) const {
  return {.root = root_text(roots_[words[0]]),
          .frames = {words.begin() + words_before_frames, words.end()},
          .is_cut = words[1] != 0,
          .samples = samples};
}

std::vector<ProfiledStack> Profile::stacks(std::size_t most) const {
  using Entry = const std::pair<const Words, std::uint64_t>*;
  std::vector<Entry> entries;
  for (const auto& entry : stacks_) entries.push_back(&entry);
  keep_first(entries, most, [](Entry one, Entry other) {
    return std::tie(other->second, one->first) < std::tie(one->second, other->first);
  });
  std::vector<ProfiledStack> all;
  for (const Entry entry : entries) all.push_back(stack_of(entry->first, entry->second));
  return all;
}

StackTree Profile::tree() const {
  StackTree tree(WeightUnit::samples);
  std::vector<FoldedFrame> frames;
  for (const auto& [words, samples] : stacks_) {
    const ProfiledStack stack = stack_of(words, samples);
    frames.assign({{stack.root, FrameKind::thread}});
    if (stack.is_cut) frames.push_back({"…", FrameKind::unknown});
    for (auto number = stack.frames.rbegin(); number != stack.frames.rend(); ++number) {
      const ProfiledFunction& function = functions_[*number];
      if (function.name == no_stack) continue;
      frames.push_back({to_text(function), kind_of(function)});
    }
    tree.add(frames, stack.samples, stack.samples);
  }
  return tree;
}

}  // namespace overdue
