#include "probes/pairs/hook.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "probes/pairs/compile.h"
#include "probes/pairs/fields.h"

namespace overdue {
namespace {

constexpr std::size_t max_hooks = 16;  // per side, each a program in the kernel

Support event_support(const EventSpec& event, const Kernel& kernel) {
  switch (event.kind) {
    case EventSpec::Kind::fentry:
    case EventSpec::Kind::fexit:
      return kernel.fentry();
    case EventSpec::Kind::uprobe:
    case EventSpec::Kind::uretprobe:
    case EventSpec::Kind::usdt:
      return kernel.uprobe();
    case EventSpec::Kind::tracepoint:
      break;
  }
  const Support raw = kernel.btf_tracepoint(event.name);
  return raw.yes ? raw : kernel.tracefs();
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  const ReadRights rights;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (at->is_directory(error)) names.push_back(at->path().filename());
  return names;
}

/// "there is sched:sched_process_fork", or the names to choose from.
std::string tracepoint_hint(const EventSpec& event, const Kernel& kernel) {
  const auto tracefs = kernel.tracefs_path();
  if (!tracefs) return "overdue ftrace events lists them, where tracefs is mounted";
  const std::vector<std::string> systems = names_in(*tracefs / "events");
  std::string system = event.scope;
  if (std::find(systems.begin(), systems.end(), system) == systems.end())
    system = nearest(system, std::vector<std::string_view>(systems.begin(), systems.end()));
  if (system.empty()) return "/sys/kernel/tracing/events has a folder for each system";
  const std::vector<std::string> names = names_in(*tracefs / "events" / system);
  const std::string_view name =
      nearest(event.name, std::vector<std::string_view>(names.begin(), names.end()));
  if (!name.empty()) return fmt::format("there is {}:{}", system, name);
  return fmt::format("/sys/kernel/tracing/events/{} has a folder for each", system);
}

/// Text of the tracepoint's format file, if there is one.
std::optional<std::string> format_of(const EventSpec& event, const Kernel& kernel) {
  const auto tracefs = kernel.tracefs_path();
  if (!tracefs) return std::nullopt;
  const ReadRights rights;
  return read_text(*tracefs / "events" / event.scope / event.name / "format");
}

class HookMaker {
 public:
  HookMaker(const PairSpec& spec, const KernelTypes& types, const Kernel& kernel,
            EventFinder& finder)
      : spec_(spec), types_(types), kernel_(kernel), finder_(finder) {}

  std::vector<Hook> make(const SideSpec& side) const {
    std::vector<Hook> hooks;
    std::optional<Error> missing;
    for (const EventSpec& event : side.events) {
      try {
        add(event, side, hooks);
      } catch (const Error& error) {
        if (!spec_.is_ready_made) throw;
        missing = error;
      }
    }
    if (hooks.empty() && missing) throw Error(*missing);
    return hooks;
  }

 private:
  void add(const EventSpec& event, const SideSpec& side, std::vector<Hook>& hooks) const {
    require_support(fmt::format("use {}", printable(event.text())), event_support(event, kernel_));
    if (event.is_user()) return add_user_event(event, side, hooks);
    Hook hook{.has_filter = side.filter.has_value(), .places = {}};
    const EventFields fields = fields_for(event, side, hook);
    hook.steps = compile_side(spec_, side, event, fields, types_);
    hook.places.push_back({.event = event, .user = {}});
    add(std::move(hook), hooks);
  }

  void add_user_event(const EventSpec& event, const SideSpec& side,
                      std::vector<Hook>& hooks) const {
    const UserPlaces places = find_user_event(event, finder_);
    for (const EventSite& site : places.sites) {
      const EventFields fields = user_fields(event.kind, parse_usdt_arguments(site.arguments));
      Hook hook{.kind = event.kind == EventSpec::Kind::uretprobe ? Hook::Kind::user_return
                                                                 : Hook::Kind::user_function,
                .steps = compile_side(spec_, side, event, fields, types_),
                .has_filter = side.filter.has_value(),
                .places = {}};
      hook.places.push_back({.event = event, .user = {.file = places.file, .sites = {site}}});
      add(std::move(hook), hooks);
    }
  }

  /// Events with the same steps share a program.
  static void add(Hook hook, std::vector<Hook>& hooks) {
    const auto same = std::ranges::find_if(hooks, [&](const Hook& other) {
      return !hook.is_typed() && other.kind == hook.kind &&
             std::memcmp(&other.steps, &hook.steps, sizeof hook.steps) == 0;
    });
    if (same != hooks.end()) {
      same->places.push_back(std::move(hook.places[0]));
      return;
    }
    if (hooks.size() == max_hooks)
      throw std::move(Error("cannot use {}: it stands in places with more than {} different ways "
                            "to its arguments",
                            printable(hook.places[0].event.text()), max_hooks))
          .hint("a key that needs none of them works: key:tid")
          .exit_status(2);
    hooks.push_back(std::move(hook));
  }

  /// Chooses how to attach, which decides the fields that there are.
  EventFields fields_for(const EventSpec& event, const SideSpec& side, Hook& hook) const {
    switch (event.kind) {
      case EventSpec::Kind::tracepoint:
        return tracepoint_fields(event, side, hook);
      case EventSpec::Kind::fentry:
        hook.kind = Hook::Kind::function;
        break;
      case EventSpec::Kind::fexit:
        hook.kind = Hook::Kind::function_return;
        break;
      case EventSpec::Kind::uprobe:
      case EventSpec::Kind::uretprobe:
      case EventSpec::Kind::usdt:
        throw std::logic_error("an event of a program has user_fields()");
    }
    const auto parameters = types_.function(event.name);
    if (!parameters)
      throw std::move(Error("cannot use {}: the kernel has no such function that may be traced",
                            printable(event.text())))
          .exit_status(2);
    return hook.kind == Hook::Kind::function ? fields_at_begin(*parameters)
                                             : fields_of(*parameters);
  }

  /// Typed arguments if they are enough for the expressions, else the fields of the format file.
  EventFields tracepoint_fields(const EventSpec& event, const SideSpec& side, Hook& hook) const {
    const std::optional<std::string> format = format_of(event, kernel_);
    const auto parameters = types_.tracepoint(event.name);
    if (!format && (!parameters || kernel_.tracefs().yes))
      throw std::move(Error("there is no tracepoint {}", printable(event.text())))
          .hint(printable(tracepoint_hint(event, kernel_)))
          .exit_status(2);
    EventFields typed = parameters ? fields_of(*parameters) : EventFields();
    EventFields flat =
        format ? fields_of_format(*format, event.scope == "syscalls" ? PLAN_USER : PLAN_KERNEL)
               : EventFields();
    if (parameters && has_all_names(side, typed, types_)) return typed;
    if (!parameters || has_all_names(side, flat, types_)) {
      hook.kind = Hook::Kind::tracepoint;
      return flat;
    }
    std::string names;
    for (const EventField& field : flat.all)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
    if (!names.empty())
      typed.missing = fmt::format("or, with none of its own among those: {}", names);
    return typed;
  }

  const PairSpec& spec_;
  const KernelTypes& types_;
  const Kernel& kernel_;
  EventFinder& finder_;
};

}  // namespace

Support pair_support(const PairSpec& spec, const Kernel& kernel) {
  for (const SideSpec* side : spec.sides()) {
    Support all;
    std::size_t usable = 0;
    for (const EventSpec& event : side->events) {
      Support support = event_support(event, kernel);
      if (support.yes) ++usable;
      if (!support.yes && all.yes) all = std::move(support);
    }
    if (!all.yes && (usable == 0 || !spec.is_ready_made)) return all;
  }
  return {};
}

HookPair make_hooks(const PairSpec& spec, const KernelTypes& types, const Kernel& kernel,
                    EventFinder& finder) {
  const HookMaker maker(spec, types, kernel, finder);
  HookPair hooks{maker.make(spec.begin), maker.make(spec.end), {}};
  for (const SideSpec& drop : spec.drops)
    for (Hook& hook : maker.make(drop)) hooks.drop.push_back(std::move(hook));
  return hooks;
}

}  // namespace overdue
