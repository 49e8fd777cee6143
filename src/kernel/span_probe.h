#pragma once

#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/control.h"
#include "core/probe.h"
#include "kernel/features.h"
#include "kernel/live_probe.h"
#include "kernel/membership.h"
#include "kernel/skeleton.h"
#include "kernel/span_sums.h"

namespace overdue {

/// A set of enum span_kind.
using SpanKinds = std::uint32_t;
constexpr SpanKinds kinds_of(std::initializer_list<span_kind> kinds) {
  SpanKinds set = 0;
  for (const span_kind kind : kinds) set |= SpanKinds{1} << kind;
  return set;
}

struct SpanOptions {
  bool whole_machine = false;  ///< spans of all threads count, and spans that belong to no thread
  SpanKinds kinds = ~SpanKinds{0};       ///< hooks of other kinds are not attached
  std::vector<std::uint32_t> cpus = {};  ///< empty: all
  std::size_t user_stack_bytes = 0;      ///< bytes of a user stack to copy, for kinds that copy
};

/// A tracepoint of a span probe, and the kinds that use the tracepoint. If the kernel lacks the
/// tracepoint, these kinds cannot be measured, unless it is optional.
struct SpanHook {
  std::string_view tracepoint;
  SpanKinds kinds;
  bool optional = false;
};

/// A software event of the kernel (PERF_COUNT_SW_…) at which a program runs, on every CPU.
struct SpanEvent {
  std::string_view program;
  std::uint64_t event;
  SpanKinds kinds;
};

/// A table of open spans: a hash map whose values begin with an open_span.
struct SpanTable {
  const char* map;
  span_kind kind;         ///< kind of the spans that are open at the end; SPAN_NONE: not reported
  bool is_named = false;  ///< values begin with a named_span
};

class SpanProbe;

/// A span probe before the session: all but its programs.
struct SpanSource {
  const char* name;
  std::span<const SpanHook> hooks;
  std::span<const SpanEvent> events = {};
  std::span<const SpanTable> tables = {};
  std::unique_ptr<SpanProbe> (*make_probe)(const SpanSource&, const SpanOptions&, const SharedMaps&,
                                           const Kernel&);

  SpanKinds kinds() const;
  std::unique_ptr<SpanProbe> make(const SpanOptions& options, const SharedMaps& shared,
                                  const Kernel& kernel) const {
    return make_probe(*this, options, shared, kernel);
  }
  Support support(const Kernel& kernel, span_kind kind) const;
  /// Whether at least one kind can be measured; if none, the reason.
  Support support(const Kernel& kernel) const;
};

/// ProbeInfo::support of a span probe.
template <const SpanSource& source>
Support span_support(const Kernel& kernel) {
  return source.support(kernel);
}

/// The common part of span probes in user space: no cells, all records are RECORD_SPAN, and a kind
/// is on while its control().threshold_ns is not 0.
class SpanProbe : public LiveProbe {
 public:
  void drain_cells(std::uint32_t epoch, KernelTime now, const RecordHandler& handler) override;
  double fill(std::uint32_t epoch) const override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  std::vector<std::string> left_out() const override { return to_sentences(refused_); }
  void end_calibration() override;
  /// Delivers the spans in the tables as open: a span that ends after the disarming stays there.
  void finish(KernelTime end, const RecordHandler& handler) override;

  /// The number of open spans in its tables.
  std::size_t open_spans() const;

 protected:
  explicit SpanProbe(const SpanSource& source) : source_(source) {}
  /// Selects the programs and maps of `object`. Called before the load.
  void prepare(bpf_object* object, const SpanOptions& options, const SharedMaps& shared,
               const Kernel& kernel);
  /// Whether the program's hook is optional for all kinds that are on.
  bool may_lack(const bpf_program* program) const;
  /// `control` must outlive this object.
  void attach_all(const session_control& control);
  void detach_all() { links_.clear(); }

  RefusedPrograms refused_;

 private:
  void sweep(KernelTime now);
  void deliver_open(const SpanTable& table, KernelTime end, const RecordHandler& handler) const;

  const SpanSource& source_;
  bpf_object* object_ = nullptr;
  const session_control* control_ = nullptr;
  std::vector<Link> links_;
  std::uint64_t swept_at_ = 0;  // COUNTER_SPANS_FULL at the last sweep
};

/// The probe whose programs are those of skeleton `T`. Loaded and attached by the constructor.
template <GeneratedSkeleton T>
class SpanProbeOf final : public SpanProbe {
 public:
  /// `configure` sets the probe's own options before the load.
  SpanProbeOf(const SpanSource& source, const SpanOptions& options, const SharedMaps& shared,
              const Kernel& kernel, const std::function<void(Skeleton<T>&)>& configure)
      : SpanProbe(source), bpf_(source.name) {
    bpf_.hide_unlike_functions([&]() -> const TracepointTypes& { return kernel.types(); });
    const auto set_up = [&](const RefusedPrograms& refused) {
      refused_ = refused;
      auto& rodata = *bpf_->rodata;
      rodata.whole_machine = options.whole_machine;
      limit_to_cpus(rodata, options.cpus);
      count_latencies(rodata, shared);
      sum_spans(rodata, shared);
      if constexpr (requires { rodata.user_stack_bytes; })
        rodata.user_stack_bytes =
            static_cast<u32>(std::min<std::size_t>(options.user_stack_bytes, USER_STACK_MAX));
      if constexpr (requires { rodata.want_ledgers; }) {
        rodata.want_ledgers = shared.ledger_slots >= 0;
        share_ledgers(bpf_->obj, shared);
      }
      if constexpr (requires { bpf_->maps.span_scratch; })
        if (options.user_stack_bytes > 0)
          check(bpf_map__set_max_entries(bpf_->maps.span_scratch, possible_cpu_count()),
                "cannot size a map");
      prepare(bpf_->obj, options, shared, kernel);
      if (configure) configure(bpf_);
    };
    bpf_.load_what_works(set_up, [this](const bpf_program* program) { return may_lack(program); });
    attach_all(bpf_->data_control->control);
  }
  // Detaches before the programs are destroyed.
  ~SpanProbeOf() override { detach_all(); }

 private:
  Skeleton<T> bpf_;
};

template <GeneratedSkeleton T>
std::unique_ptr<SpanProbe> make_span_probe(const SpanSource& source, const SpanOptions& options,
                                           const SharedMaps& shared, const Kernel& kernel,
                                           const std::function<void(Skeleton<T>&)>& configure) {
  return std::make_unique<SpanProbeOf<T>>(source, options, shared, kernel, configure);
}
/// SpanSource::make_probe of a probe without options of its own.
template <GeneratedSkeleton T>
std::unique_ptr<SpanProbe> make_span_probe(const SpanSource& source, const SpanOptions& options,
                                           const SharedMaps& shared, const Kernel& kernel) {
  return make_span_probe<T>(source, options, shared, kernel, nullptr);
}

}  // namespace overdue
