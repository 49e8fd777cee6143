#include "probes/pairs/hook.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
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
    require_support(fmt::format("use {}", printable(side.event.text())),
                    event_support(side.event, kernel_));
    if (side.event.is_user()) return user_hooks(side);
    Hook hook{.event = side.event, .has_filter = side.filter.has_value(), .places = {}};
    const EventFields fields = fields_for(side, hook);
    hook.steps = compile_side(spec_, side, fields, types_);
    std::vector<Hook> one;
    one.push_back(std::move(hook));
    return one;
  }

 private:
  /// One hook for all sites where the side's expressions compile to the same steps.
  std::vector<Hook> user_hooks(const SideSpec& side) const {
    const UserPlaces places = find_user_event(side.event, finder_);
    std::vector<Hook> hooks;
    for (const EventSite& site : places.sites) {
      const EventFields fields = user_fields(side.event.kind, parse_usdt_arguments(site.arguments));
      const plan steps = compile_side(spec_, side, fields, types_);
      const auto same = std::ranges::find_if(hooks, [&](const Hook& hook) {
        return std::memcmp(&hook.steps, &steps, sizeof steps) == 0;
      });
      if (same != hooks.end()) {
        same->places.sites.push_back(site);
        continue;
      }
      if (hooks.size() == max_hooks)
        throw std::move(Error("cannot use {}: it stands in places with more than {} different ways "
                              "to its arguments",
                              printable(side.event.text()), max_hooks))
            .hint("a key that needs none of them works: key:tid")
            .exit_status(2);
      hooks.push_back({.kind = side.event.kind == EventSpec::Kind::uretprobe
                                   ? Hook::Kind::user_return
                                   : Hook::Kind::user_function,
                       .event = side.event,
                       .steps = steps,
                       .has_filter = side.filter.has_value(),
                       .places = {.file = places.file, .sites = {site}}});
    }
    return hooks;
  }

  /// Chooses how to attach, which decides the fields that there are.
  EventFields fields_for(const SideSpec& side, Hook& hook) const {
    switch (side.event.kind) {
      case EventSpec::Kind::tracepoint:
        return tracepoint_fields(side, hook);
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
    const auto parameters = types_.function(side.event.name);
    if (!parameters)
      throw std::move(Error("cannot use {}: the kernel has no such function that may be traced",
                            printable(side.event.text())))
          .exit_status(2);
    return hook.kind == Hook::Kind::function ? fields_at_begin(*parameters)
                                             : fields_of(*parameters);
  }

  /// Typed arguments if they are enough for the expressions, else the fields of the format file.
  EventFields tracepoint_fields(const SideSpec& side, Hook& hook) const {
    const EventSpec& event = side.event;
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
  for (const EventSpec* event : {&spec.begin.event, &spec.end.event})
    if (Support support = event_support(*event, kernel); !support.yes) return support;
  return {};
}

HookPair make_hooks(const PairSpec& spec, const KernelTypes& types, const Kernel& kernel,
                    EventFinder& finder) {
  const HookMaker maker(spec, types, kernel, finder);
  return {maker.make(spec.begin), maker.make(spec.end)};
}

}  // namespace overdue
