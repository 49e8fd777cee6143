#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/span_schema.h"
#include "kernel/child_fixture.h"
#include "kernel/session.h"
#include "probes/pairs/probe.h"

// For tests of user spans: a session that keeps every span it measures.
namespace overdue {

class PairsSession {
 public:
  PairsSession(const MembershipRules& rules, const std::vector<std::string>& texts,
               bool whole_machine = false, std::uint32_t max_open = 16384)
      : session(rules, 4 << 20) {
    PairsOptions options{
        .pairs = {}, .whole_machine = whole_machine, .cpus = {}, .max_open = max_open};
    for (const std::string& span : texts) options.pairs.push_back(parse_pair(span));
    LocalEventFinder finder;
    auto made = std::make_unique<PairsProbe>(options, session.membership().maps(), kernel, finder);
    probe = made.get();
    session.add(std::move(made));
    session.membership().control().threshold_ns[SPAN_PAIR] = 1;
  }

  RecordHandler handler() {
    return [this](const Record& record) {
      if (record.schema->id == RECORD_SPAN) spans.push_back(record.as<span_record>());
    };
  }
  void arm() { session.arm(); }
  const std::vector<span_record>& finish() {
    session.finish(handler());
    return spans;
  }
  /// The ended spans called `name`.
  std::vector<span_record> ended(std::string_view name) const {
    std::vector<span_record> result;
    std::copy_if(spans.begin(), spans.end(), std::back_inserter(result),
                 [&](const auto& span) { return !(span.flags & SPAN_OPEN) && name == span.text; });
    return result;
  }
  std::vector<span_record> open() const {
    std::vector<span_record> result;
    std::copy_if(spans.begin(), spans.end(), std::back_inserter(result),
                 [](const auto& span) { return (span.flags & SPAN_OPEN) != 0; });
    return result;
  }

  Kernel kernel;
  Session session;
  PairsProbe* probe = nullptr;
  std::vector<span_record> spans;
};

inline MembershipRules rules_for(const Child& child) {
  MembershipRules rules;
  rules.pids = {child.pid()};
  return rules;
}

}  // namespace overdue
