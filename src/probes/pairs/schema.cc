#include "core/span_schema.h"
#include "kernel/features.h"
#include "probes/pairs/probe.h"

namespace overdue {
namespace {

constexpr const Schema* span_pair_schemas[] = {&span_schema};

Support span_pair_support(const Kernel& kernel) {
  for (const Support& support :
       {kernel.privileges(), kernel.btf(), kernel.task_storage(), kernel.ring_buffer()})
    if (!support.yes) return support;
  return {};
}

}  // namespace

extern const std::string_view pairs_manual;

const ProbeInfo pairs_probe{
    .name = "pairs",
    .summary = "your own spans: from one event to another with the same key",
    .manual = pairs_manual,
    .schemas = span_pair_schemas,
    .support = span_pair_support};

}  // namespace overdue
