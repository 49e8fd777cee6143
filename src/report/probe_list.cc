#include "report/probe_list.h"

#include <array>

#include "kernel/span_probe.h"

namespace overdue {
namespace {

constexpr std::array<std::string_view, 4> roles = {"value", "key", "duration", "stack"};

void describe_field(Members& member, const Field& field) {
  member("name", field.name);
  member("role", roles[static_cast<std::size_t>(field.role)],
         {.help = "a key labels the figures of a record, a duration is a latency, a value another "
                  "figure, a stack a part of one",
          .choices = roles});
  member("help", field.help);
}

void describe_schema(Members& member, const Schema& schema) {
  const std::vector<Field> fields(schema.fields.begin(), schema.fields.end());
  member("name", schema.name, {.help = "type of the record in NDJSON"});
  member("help", schema.help);
  member.list("fields", fields, [&](const Field& field) { describe_field(member, field); },
              {.below = true});
}

}  // namespace

std::vector<SpanKind> spans_of(const ProbeInfo& probe) {
  std::vector<SpanKind> kinds;
  for (const SpanKind* kind : span_kinds())
    if (probe.spans && probe.spans->kinds() & kinds_of({kind->number})) kinds.push_back(*kind);
  return kinds;
}

void describe(Members& member, const ProbeInfo& probe) {
  member.type("probe", "What a probe measures, and its records");
  member("name", probe.name);
  member("summary", probe.summary);
  const auto describe_kind = [&](const SpanKind& kind) {
    member("name", kind.name, {.help = "as in --span"});
    member("help", kind.sentence);
  };
  member.list("spans", spans_of(probe), describe_kind);
  std::vector<Schema> schemas;
  for (const Schema* schema : probe.schemas) schemas.push_back(*schema);
  member.list("records", schemas, [&](const Schema& schema) { describe_schema(member, schema); },
              {.below = true});
}

void describe_probes(Members& member) {
  std::vector<ProbeInfo> probes;
  for (const ProbeInfo* probe : all_probes()) probes.push_back(*probe);
  member("overdue", OVERDUE_VERSION, {.help = "version of Overdue"});
  member("schema", 1U, {.help = "version of this schema"});
  member("command", "probes");
  member("probes", probes, {.below = true});
}

}  // namespace overdue
