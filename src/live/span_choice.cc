#include "live/span_choice.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "core/span_kinds.h"
#include "live/ready_spans.h"
#include "probes/pairs/pairs.h"
#include "probes/sched/probe.h"
#include "probes/spans.h"
#include "probes/syscalls/probe.h"

namespace overdue {
namespace {

/// The kind of probe that measures connections is called as the kernel calls it.
constexpr std::string_view connect = "connect";

void add_pair(SpanChoice& choice, PairSpec pair) {
  if (find_span_kind(pair.name) || pair.name == "all" || pair.name == span_name(SPAN_PAIR))
    throw Error("--span: '{}' is a kind of span already", pair.name)
        .hint("give yours another name")
        .exit_status(2);
  for (const PairSpec& other : choice.pairs)
    if (other.name == pair.name)
      throw Error("--span: two spans are called '{}'", pair.name)
          .hint("give one of them another name")
          .exit_status(2);
  if (choice.pairs.size() == PAIRS_MAX)
    throw Error("--span: at most {} user spans", PAIRS_MAX)
        .hint("look for the others in another run")
        .exit_status(2);
  choice.pairs.push_back(std::move(pair));
  choice.kinds.push_back(SPAN_PAIR);
}

void add_name(SpanChoice& choice, std::string_view name) {
  if (const ReadySpan* ready = find_ready_span(name)) {
    const bool again = std::ranges::any_of(choice.pairs, [&](const PairSpec& pair) {
      return pair.is_ready_made && pair.name == name;
    });
    if (!again) add_pair(choice, pair_of(*ready));
    return;
  }
  const auto kind = span_called(name);
  std::vector<std::string_view> names = span_names();
  names.emplace_back("all");
  if (!kind) throw no_such_span("--span", "kind of span", name, names);
  choice.kinds.push_back(*kind);
  choice.optional &= ~kinds_of({*kind});
}

void add_all(SpanChoice& choice) {
  for (const SpanKind* kind : span_kinds()) {
    if (kind->number == SPAN_PAIR || choice.has(kind->number)) continue;
    choice.kinds.push_back(kind->number);
    choice.optional |= kinds_of({kind->number});
  }
}

}  // namespace

bool SpanChoice::has(span_kind kind) const {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

SpanKinds SpanChoice::kind_set() const {
  SpanKinds set = 0;
  for (const span_kind kind : kinds) set |= kinds_of({kind});
  return set;
}

std::vector<std::string> SpanChoice::pair_names() const {
  std::vector<std::string> names;
  for (const PairSpec& pair : pairs) names.push_back(pair.name);
  return names;
}

std::vector<std::string_view> span_names() {
  std::vector<std::string_view> names;
  for (const SpanKind* kind : span_kinds())
    if (kind->number != SPAN_PAIR) names.push_back(kind->name);
  names.push_back(connect);
  for (const ReadySpan& ready : ready_spans()) names.push_back(ready.name);
  return names;
}

std::optional<span_kind> span_called(std::string_view name) {
  if (name == connect) return SPAN_TCP_CONNECT;
  if (find_ready_span(name)) return SPAN_PAIR;
  return find_span_kind(name);
}

Error no_such_span(std::string_view option, std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& names) {
  return Error("{}: there is no {} '{}'{}", option, what, printable(name), suggestion(name, names))
      .hint(fmt::format("names are {}; a user span is NAME=begin:EVENT,end:EVENT,key:EXPR",
                        fmt::join(names, ", ")))
      .exit_status(2);
}

SpanChoice parse_spans(const std::vector<std::string>& values) {
  SpanChoice choice;
  for (const std::string& value : values) {
    if (value.find('=') != value.npos) {  // a user span has commas of its own
      add_pair(choice, parse_pair(value));
      continue;
    }
    for (const std::string_view name : split(value, ',')) {
      if (name == "all")
        add_all(choice);
      else
        add_name(choice, name);
    }
  }
  if (choice.kinds.empty() && !values.empty()) add_name(choice, values.front());  // "", ","
  if (choice.kinds.empty()) choice.kinds = {SPAN_SYSCALL};
  std::sort(choice.kinds.begin(), choice.kinds.end());
  choice.kinds.erase(std::unique(choice.kinds.begin(), choice.kinds.end()), choice.kinds.end());
  return choice;
}

bool is_explained_by_waits(span_kind kind) {
  return is_of_thread(kind) || kind == SPAN_PAIR;
}

bool may_have_user_stack(span_kind kind) {
  return is_explained_by_waits(kind) && kind != SPAN_WORK;  // a thread of the kernel
}

Support span_support(const Kernel& kernel, span_kind kind) {
  if (kind == SPAN_SYSCALL) {
    const Support sched = sched_probe.support(kernel);
    return sched.yes ? syscalls_probe.support(kernel) : sched;
  }
  const SpanSource* source = span_source(kind);
  return source ? source->support(kernel, kind) : sched_probe.support(kernel);
}

}  // namespace overdue
