#include "live/event_choice.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "core/span_kinds.h"
#include "live/own_measurements.h"
#include "live/span_choice.h"
#include "report/probe_list.h"

namespace overdue {
namespace {

constexpr std::string_view every_call = "syscalls";

/// Names of several kinds; also the name of a probe that measures spans.
struct Group {
  std::string_view name;
  std::vector<span_kind> kinds;
};

std::vector<Group> groups() {
  std::vector<Group> all = {{"sched", {SPAN_OFFCPU, SPAN_WAKEUP}},
                            {"net", {SPAN_TCP_CONNECT, SPAN_TCP_ANSWER, SPAN_UNIX_ANSWER}}};
  for (const ProbeInfo* probe : all_probes()) {
    if (!probe->spans || find_span_kind(probe->name)) continue;
    Group& group = all.emplace_back(Group{probe->name, {}});
    for (const SpanKind& kind : spans_of(*probe)) group.kinds.push_back(kind.number);
  }
  return all;
}

Error no_event(std::string_view word) {
  std::vector<std::string_view> names = {every_call};
  for (const std::string_view name : span_names()) names.push_back(name);
  const std::vector<Group> all_groups = groups();
  for (const Group& group : all_groups) names.push_back(group.name);
  for (const std::string_view name : OwnMeasurements::names) names.push_back(name);
  names.emplace_back("all");
  return no_such_span("--events", "event", word, names);
}

/// `named`: the kinds that are named one by one.
void add_event(std::string_view word, EventChoice& events, SpanKinds& named) {
  if (word == every_call) {
    events.calls = true;
  } else if (OwnMeasurements::knows(word)) {
    events.own.emplace_back(word);
  } else if (word == "all") {
    events.spans.emplace_back(word);
  } else if (const auto one = span_called(word)) {
    events.spans.emplace_back(word);
    named |= kinds_of({*one});
  } else {
    const std::vector<Group> all = groups();
    const auto group = std::ranges::find(all, word, &Group::name);
    if (group == all.end()) throw no_event(word);
    for (const span_kind kind : group->kinds) {
      events.spans.emplace_back(span_name(kind));
      events.of_groups |= kinds_of({kind});
    }
  }
}

/// A user span has commas of its own, behind its name. A measurement with settings has none.
bool is_user_span(std::string_view value) {
  const std::string_view name = value.substr(0, value.find('='));
  return name.size() < value.size() &&
         !OwnMeasurements::knows(name.substr(name.find_last_of(',') + 1));
}

}  // namespace

EventChoice parse_events(const std::vector<std::string>& values) {
  EventChoice events;
  SpanKinds named = 0;
  for (const std::string& value : values) {
    if (is_user_span(value))
      events.spans.push_back(value);
    else
      for (const std::string_view word : split(value, ',')) add_event(word, events, named);
  }
  events.of_groups &= ~named;
  if (values.empty()) events.calls = true;
  if (!events.calls && events.spans.empty() && events.own.empty()) throw no_event("");
  return events;
}

}  // namespace overdue
