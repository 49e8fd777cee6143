#include "live/span_choice.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "core/span_kinds.h"
#include "probes/pairs/pairs.h"
#include "probes/sched/probe.h"
#include "probes/spans.h"
#include "probes/syscalls/probe.h"

namespace overdue {
namespace {

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (const SpanKind* kind : span_kinds())
    if (kind->number != SPAN_PAIR) names.push_back(kind->name);
  return names;
}

span_kind kind_called(std::string_view name) {
  if (const auto kind = find_span_kind(name)) return *kind;
  const std::vector<std::string_view> names = kind_names();
  const std::string_view near = nearest(name, names);
  throw Error("--span: there is no kind of span '{}'{}", printable(name),
              near.empty() ? "" : fmt::format("; '{}'?", near))
      .hint(fmt::format("kinds are {}, all; a user span is NAME=begin:EVENT,end:EVENT,key:EXPR",
                        fmt::join(names, ", ")))
      .exit_status(2);
}

void add_pair(SpanChoice& choice, const std::string& text) {
  PairSpec pair = parse_pair(text);
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

void add_all(SpanChoice& choice) {
  choice.all = true;
  for (const SpanKind* kind : span_kinds())
    if (kind->number != SPAN_PAIR) choice.kinds.push_back(kind->number);
}

}  // namespace

bool SpanChoice::has(span_kind kind) const {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::vector<std::string> SpanChoice::pair_names() const {
  std::vector<std::string> names;
  for (const PairSpec& pair : pairs) names.push_back(pair.name);
  return names;
}

SpanChoice parse_spans(const std::vector<std::string>& values) {
  SpanChoice choice;
  for (const std::string& value : values) {
    if (value.find('=') != value.npos) {  // a user span has commas of its own
      add_pair(choice, value);
      continue;
    }
    for (const std::string_view name : split(value, ',')) {
      if (name == "all")
        add_all(choice);
      else
        choice.kinds.push_back(kind_called(name));
    }
  }
  if (choice.kinds.empty() && !values.empty()) kind_called(values.front());  // "", ","
  if (choice.kinds.empty()) choice.kinds = {SPAN_SYSCALL};
  std::sort(choice.kinds.begin(), choice.kinds.end());
  choice.kinds.erase(std::unique(choice.kinds.begin(), choice.kinds.end()), choice.kinds.end());
  return choice;
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
