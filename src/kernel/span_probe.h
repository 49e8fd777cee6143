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

namespace overdue {

/// A set of enum span_kind.
using SpanKinds = std::uint32_t;
constexpr SpanKinds kinds_of(std::initializer_list<span_kind> kinds) {
  SpanKinds set = 0;
  for (const span_kind kind : kinds) set |= SpanKinds{1} << kind;
  return set;
}

struct SpanOptions {
  bool whole_machine = false;       ///< the target is everything, and what belongs to no thread
  SpanKinds kinds = ~SpanKinds{0};  ///< hooks of others are not attached
  std::vector<std::uint32_t> cpus = {};  ///< empty: all
  std::size_t user_stack_bytes = 0;      ///< how much of user stacks to copy, of kinds that do
};

/// A tracepoint that a probe of spans uses, and the kinds it uses it for. Where the kernel does not
/// have it, those kinds cannot be measured, unless it is optional.
struct SpanHook {
  std::string_view tracepoint;
  SpanKinds kinds;
  bool optional = false;
};

/// A table of spans that wait for their end: a hash map whose values begin with an open_span.
struct SpanTable {
  const char* map;
  span_kind kind;  ///< what its spans are at the end of the session; SPAN_NONE: not to be told of
  bool is_named = false;  ///< its values begin with a named_span
};

/// What a probe of spans is made of besides its programs.
struct SpanParts {
  const char* name;
  std::span<const SpanHook> hooks;
  std::span<const SpanTable> tables;
};

class SpanProbe;

/// What a command sees of a probe of spans before it runs.
struct SpanSource {
  const ProbeInfo* info;
  std::span<const SpanHook> hooks;
  std::unique_ptr<SpanProbe> (*make)(const SpanOptions&, const SharedMaps&, const Kernel&);

  SpanKinds kinds() const;
  Support support(const Kernel& kernel, span_kind kind) const;
};

/// Whether at least one kind of these hooks can be measured; why not, if none.
Support any_span_support(const Kernel& kernel, std::span<const SpanHook> hooks);

/// What probes of spans have in common on this side: there are no cells, every record is
/// RECORD_SPAN, and a kind is wanted while control().threshold_ns of it is not 0.
class SpanProbe : public LiveProbe {
 public:
  void drain_cells(std::uint32_t epoch, KernelTime now, const RecordHandler& handler) override;
  double fill(std::uint32_t epoch) const override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  std::vector<std::string> left_out() const override { return to_sentences(refused_); }
  void end_calibration() override;
  /// Spans that are in the tables now are open: one that ends when the session is disarmed stays.
  void finish(KernelTime end, const RecordHandler& handler) override;

  /// Spans in its tables that have begun and not ended.
  std::size_t open_spans() const;

 protected:
  explicit SpanProbe(const SpanParts& parts) : parts_(parts) {}
  /// What of `object` to load, and with which maps. Before it is loaded.
  void prepare(bpf_object* object, const SpanOptions& options, const SharedMaps& shared,
               const Kernel& kernel);
  /// Whether the program's hook is optional for all kinds that are wanted.
  bool may_lack(const bpf_program* program) const;
  /// `control` is to live as long as this.
  void attach_all(const session_control& control);
  void detach_all() { links_.clear(); }

  RefusedPrograms refused_;

 private:
  void sweep(KernelTime now);
  void deliver_open(const SpanTable& table, KernelTime end, const RecordHandler& handler) const;

  SpanParts parts_;
  bpf_object* object_ = nullptr;
  const session_control* control_ = nullptr;
  std::vector<Link> links_;
  std::uint64_t swept_at_ = 0;  // COUNTER_SPANS_FULL then
};

/// The probe whose programs are those of skeleton `T`. Loaded and attached by the constructor.
template <GeneratedSkeleton T>
class SpanProbeOf final : public SpanProbe {
 public:
  /// `configure`: what is to be set before loading beyond what all have.
  SpanProbeOf(const SpanParts& parts, const SpanOptions& options, const SharedMaps& shared,
              const Kernel& kernel, const std::function<void(Skeleton<T>&)>& configure = nullptr)
      : SpanProbe(parts), bpf_(parts.name) {
    bpf_.hide_unlike_functions([&]() -> const TracepointTypes& { return kernel.types(); });
    const auto set_up = [&](const RefusedPrograms& refused) {
      refused_ = refused;
      auto& rodata = *bpf_->rodata;
      rodata.whole_machine = options.whole_machine;
      limit_to_cpus(rodata, options.cpus);
      if constexpr (requires { rodata.user_stack_bytes; })
        rodata.user_stack_bytes =
            static_cast<u32>(std::min<std::size_t>(options.user_stack_bytes, USER_STACK_MAX));
      prepare(bpf_->obj, options, shared, kernel);
      if (configure) configure(bpf_);
    };
    bpf_.load_what_works(set_up, [this](const bpf_program* program) { return may_lack(program); });
    attach_all(bpf_->data_control->control);
  }
  // Detached before the programs go.
  ~SpanProbeOf() override { detach_all(); }

 private:
  Skeleton<T> bpf_;
};

}  // namespace overdue
