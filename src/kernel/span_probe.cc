#include "kernel/span_probe.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/span_schema.h"

namespace overdue {
namespace {

constexpr std::string_view section_prefix = "tp_btf/";

/// A full table is cleared of older spans: no hook reports their ends.
constexpr std::chrono::seconds sweep_age{10};

const SpanHook* hook_of(const bpf_program* program, std::span<const SpanHook> hooks) {
  std::string_view section = bpf_program__section_name(program);
  if (!section.starts_with(section_prefix)) return nullptr;
  section.remove_prefix(section_prefix.size());
  const auto hook = std::find_if(hooks.begin(), hooks.end(), [&](const SpanHook& candidate) {
    return candidate.tracepoint == section;
  });
  return hook == hooks.end() ? nullptr : &*hook;
}

const SpanEvent* event_of(const bpf_program* program, std::span<const SpanEvent> events) {
  const std::string_view name = bpf_program__name(program);
  const auto event = std::ranges::find(events, name, &SpanEvent::program);
  return event == events.end() ? nullptr : &*event;
}

/// Runs `program` at every single event, on all CPUs: the thread may have moved since the begin.
void attach_to_all_cpus(bpf_program* program, const SpanEvent& event, std::vector<Link>& links) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = event.event;
  attributes.sample_period = 1;
  for (u32 cpu = 0; cpu < possible_cpu_count(); ++cpu) {
    Link link = attach_to_cpu(program, attributes, cpu);
    if (link)
      links.push_back(std::move(link));
    else if (errno != ENODEV && errno != ENXIO)  // offline, or not there
      throw Error("cannot watch the {} of CPU {}: {}", event.program, cpu, errno_text(errno))
          .hint("overdue doctor says what is missing");
  }
}

Support common_support(const Kernel& kernel) {
  return kernel.session({"sys_enter", "sys_exit"});
}

Support kind_support(const Kernel& kernel, const SpanSource& source, SpanKinds kind) {
  if (Support common = common_support(kernel); !common.yes) return common;
  for (const SpanEvent& event : source.events)
    if (event.kinds & kind)
      if (Support support = kernel.cpu_clock(); !support.yes) return support;
  for (const SpanHook& hook : source.hooks) {
    if (hook.optional || !(hook.kinds & kind)) continue;
    if (Support support = kernel.btf_tracepoint(hook.tracepoint); !support.yes) return support;
  }
  return {};
}

int fd_of(bpf_object* object, const char* map) {
  return bpf_object__find_map_fd_by_name(object, map);
}

/// Calls `visit` with the key and the span of every entry of a table. The walk starts over when a
/// program deletes its current entry; a limit of steps ends it.
template <typename Visit>
void for_each_open(bpf_object* object, const SpanTable& table, Visit visit) {
  const bpf_map* map = bpf_object__find_map_by_name(object, table.map);
  const int fd = bpf_map__fd(map);
  std::vector<std::byte> key(bpf_map__key_size(map)), value(bpf_map__value_size(map));
  const std::byte* previous = nullptr;
  for (u32 left = bpf_map__max_entries(map); left > 0; --left) {
    if (bpf_map_get_next_key(fd, previous, key.data()) != 0) return;
    previous = key.data();
    if (bpf_map_lookup_elem(fd, key.data(), value.data()) != 0) continue;
    named_span span{};
    std::memcpy(&span, value.data(),
                std::min(table.is_named ? sizeof span : sizeof span.by, value.size()));
    visit(key, span);
  }
}

}  // namespace

SpanKinds SpanSource::kinds() const {
  SpanKinds kinds = 0;
  for (const SpanHook& hook : hooks) kinds |= hook.kinds;
  return kinds;
}

Support SpanSource::support(const Kernel& kernel, span_kind kind) const {
  return kind_support(kernel, *this, kinds_of({kind}));
}

Support SpanSource::support(const Kernel& kernel) const {
  Support first;
  for (SpanKinds left = kinds(); left != 0; left &= left - 1) {
    Support support = kind_support(kernel, *this, left & (~left + 1));
    if (support.yes) return support;
    if (first.yes) first = std::move(support);
  }
  return first;
}

void SpanProbe::prepare(bpf_object* object, const SpanOptions& options, const SharedMaps& shared,
                        const Kernel& kernel) {
  object_ = object;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    if (const SpanEvent* event = event_of(program, source_.events)) {
      bpf_program__set_autoload(program, (event->kinds & options.kinds) != 0);
      continue;
    }
    const SpanHook* hook = hook_of(program, source_.hooks);
    bpf_program__set_autoload(program, hook && (hook->kinds & options.kinds) != 0 &&
                                           !is_refused(refused_, program) &&
                                           kernel.btf_tracepoint(hook->tracepoint).yes);
  }
  share_maps(object, shared);
}

bool SpanProbe::may_lack(const bpf_program* program) const {
  const SpanHook* hook = hook_of(program, source_.hooks);
  return hook && hook->optional;
}

void SpanProbe::attach_all(const session_control& control) {
  control_ = &control;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_) {
    if (!bpf_program__autoload(program)) continue;
    if (const SpanEvent* event = event_of(program, source_.events))
      attach_to_all_cpus(program, *event, links_);
    else
      links_.push_back(attach(program));
  }
}

void SpanProbe::drain_cells(std::uint32_t, KernelTime now, const RecordHandler&) {
  const std::uint64_t refused = counters()[COUNTER_SPANS_FULL];
  if (refused > swept_at_) sweep(now);
  swept_at_ = refused;
}

void SpanProbe::sweep(KernelTime now) {
  const u64 before_ns = (now - sweep_age).time_since_epoch().count();
  for (const SpanTable& table : source_.tables) {
    std::vector<std::vector<std::byte>> old;
    for_each_open(object_, table, [&](const std::vector<std::byte>& key, const named_span& span) {
      if (span.by.begin_ns < before_ns) old.push_back(key);
    });
    for (const auto& key : old) bpf_map_delete_elem(fd_of(object_, table.map), key.data());
  }
}

void SpanProbe::deliver_open(const SpanTable& table, KernelTime end,
                             const RecordHandler& handler) const {
  const u64 threshold_ns = __atomic_load_n(&control_->threshold_ns[table.kind], __ATOMIC_RELAXED);
  const u64 end_ns = end.time_since_epoch().count();
  if (threshold_ns == 0) return;
  for_each_open(object_, table, [&](const std::vector<std::byte>&, const named_span& named) {
    const open_span& open = named.by;
    if (open.begin_ns >= end_ns || end_ns - open.begin_ns < threshold_ns) return;
    span_record span{};
    span.header.time_ns = end_ns;
    span.header.kind = RECORD_SPAN;
    span.header.size = sizeof span;
    span.header.pid = span.begin_pid = open.pid;
    span.header.tid = span.begin_tid = open.tid;
    span.latency_ns = end_ns - open.begin_ns;
    span.subject = open.subject;
    span.detail = open.detail;
    span.span = static_cast<u16>(table.kind);
    span.flags = static_cast<u16>(SPAN_OPEN | named.flags);
    std::memcpy(span.text, named.text, sizeof span.text);
    handler(Record{&span_schema, std::as_bytes(std::span(&span, 1))});
  });
}

void SpanProbe::finish(KernelTime end, const RecordHandler& handler) {
  detach_all();
  wait_for_running_programs();
  for (const SpanTable& table : source_.tables)
    if (table.kind != SPAN_NONE) deliver_open(table, end, handler);
}

double SpanProbe::fill(std::uint32_t) const {
  return 0;
}

const Schema* SpanProbe::schema(std::uint16_t kind) const {
  return kind == span_schema.id ? &span_schema : nullptr;
}

Counters SpanProbe::counters() const {
  return read_counters(object_);
}

void SpanProbe::end_calibration() {
  clear_counters(fd_of(object_, "counters"));
}

std::size_t SpanProbe::open_spans() const {
  std::size_t count = 0;
  for (const SpanTable& table : source_.tables)
    for_each_open(object_, table,
                  [&](const std::vector<std::byte>&, const named_span&) { ++count; });
  return count;
}

}  // namespace overdue
