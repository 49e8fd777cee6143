// Any text, read as a span of --span, compiled for a kernel of a few types and run there. No crash,
// no leak, no message that harms a terminal, no read outside the fake memory, and a plan within its
// limits. Text that begins with a tab is read as the format file of a tracepoint.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "bpf/span.h"
#include "probes/pairs/fake_kernel.h"

namespace overdue {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void compile(const PairSpec& pair, const SideSpec& side, const EventSpec& event,
             const EventFields& fields, const KernelTypes& types) {
  FakeMemory memory;
  memory.context[0] = reinterpret_cast<u64>(memory.kernel.data());
  memory.put(memory.kernel, 8, memory.context[0]);
  try {
    const plan steps = compile_side(pair, side, event, fields, types);
    require(steps.steps[PLAN_STEPS - 1].operation == PLAN_END);
    require(has_all_names(side, fields, types));
    run_plan(steps, memory);
  } catch (const Error& error) {
    require(error.exit_status() == 2);
  }
}

void read_span(std::string_view text) {
  static const KernelTypes types = fake_types();
  static const EventFields tracepoint = fake_tracepoint(types);
  try {
    const PairSpec pair = parse_pair(text);
    require(!pair.name.empty() && pair.name.size() < SPAN_TEXT_SIZE);
    require(pair.begin.key.size() == pair.end.key.size());
    for (const SideSpec* side : pair.sides()) {
      require(side->key.size() == 1 || side->key.size() == 2);
      for (const EventSpec& event : side->events) {
        compile(pair, *side, event, tracepoint, types);
        // Words with an @ are arguments of a USDT probe.
        compile(pair, *side, event, user_fields(event.kind, parse_usdt_arguments(text)), types);
      }
    }
  } catch (const Error& error) {
    require(error.exit_status() == 2);
    for (std::string_view rest = error.what(); !rest.empty();) {
      const std::size_t length = rest[0] == '\\' ? 1 : printable_length(rest);
      require(length > 0);
      rest.remove_prefix(length);
    }
  }
}

void read_format(std::string_view text) {
  for (const EventField& field : fields_of_format(text, PLAN_USER).all)
    require(field.where < 65536 && field.type.size < 65536);
}

}  // namespace
}  // namespace overdue

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('\t'))
    overdue::read_format(text);
  else
    overdue::read_span(text);
  return 0;
}
