#include "report/spans/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "analysis/span_words.h"
#include "base/text.h"
#include "core/full_names.h"
#include "core/span_kinds.h"
#include "sinks/latency_sections.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t rows_max = 4096;  // peers of connections, and names in files, have no limit
constexpr std::size_t open_spans_max = 4096;
constexpr std::size_t span_threads_max = 65536;
constexpr std::string_view other_names = "other names";

}  // namespace

void SpanViewOptions::check() const {
  LatencyTable none;
  sort_rows(none, sort, top);
}

SpanView::SpanView(SpanViewOptions options, StackNamer& namer, Sink& sink)
    : options_(std::move(options)),
      namer_(namer),
      sink_(sink),
      assembler_([this](const RawStall& span) { add(span); }) {}

void SpanView::begin(const SessionInfo& info) {
  const auto least = [&](span_kind kind) -> std::uint64_t { return wants(kind) ? 1 : 0; };
  assembler_.look_for({.offcpu_ns = least(SPAN_OFFCPU),
                       .wakeup_ns = least(SPAN_WAKEUP),
                       .since_ns = static_cast<u64>(info.start.time_since_epoch().count()),
                       .cpus = options_.cpus});
  sink_.begin(info);
}

void SpanView::record(const Record& record) {
  const event_header header = record.header();
  if (options_.by_thread && header.comm[0] && names_.size() < span_threads_max)
    names_[header.tid] = fixed_text(header.comm);
  if (record.schema->id == RECORD_SPAN_SUM)
    add_sum(record.as<span_sum>());
  else
    assembler_.record(record);
}

bool SpanView::wants(span_kind kind) const {
  return std::ranges::find(options_.kinds, kind) != options_.kinds.end();
}

void SpanView::add(const RawStall& span) {
  const span_kind kind = known_span_kind(span.span.span);
  if (kind == SPAN_NONE) ++unknown_;
  if (!wants(kind)) return;
  Finding finding;
  describe_span(span, namer_, finding);
  describe_threads(span, namer_, finding);
  if (span.span.flags & SPAN_OPEN) {
    if (open_.size() >= open_spans_max)
      ++open_omitted_;
    else
      open_.push_back({.name = fmt::format("{} {}", finding.span, finding.name),
                       .tid = finding.thread.tid,
                       .comm = finding.thread.comm,
                       .age_ns = span.span.latency_ns,
                       .older = (span.span.flags & SPAN_OLDER) != 0});
    return;
  }
  Key key{std::string(finding.span), finding.name.empty() ? "unknown" : finding.name, {}};
  // The thread that an interrupt interrupts has no part in the interrupt.
  if (options_.by_thread && !finding.is_bystander) key.tid = finding.thread.tid;
  if (key.tid) names_.try_emplace(*key.tid, finding.thread.comm);
  change_rows(key, [&](LatencyRow& row) {
    row.latency.add(span.span.latency_ns);
    if (span.span.flags & SPAN_FAILED) ++row.errors;
  });
}

void SpanView::add_sum(const span_sum& sum) {
  const span_record span = span_of(sum);
  const span_kind kind = known_span_kind(sum.span);
  if (kind == SPAN_NONE) unknown_ += sum.latency.count;
  if (!wants(kind)) return;
  std::string name = name_of_span(span, namer_);
  Key key{std::string(span_name(sum.span)), name.empty() ? "unknown" : std::move(name), {}};
  if (options_.by_thread && sum.begin_tid != 0) {
    key.tid = sum.begin_tid;
    names_.try_emplace(sum.begin_tid, sum.header.tid == sum.begin_tid
                                          ? std::string(fixed_text(sum.header.comm))
                                          : namer_.thread_name(sum.begin_pid, sum.begin_tid));
  }
  change_rows(key, [&](LatencyRow& row) {
    row.latency.merge(sum.latency);
    row.errors += sum.errors;
  });
}

template <typename Change>
void SpanView::change_rows(const Key& key, const Change& change) {
  change(row_of(total_, key));
  if (intervals_) change(row_of(since_last_, key));
}

LatencyRow& SpanView::row_of(Rows& rows, const Key& key) {
  auto row = rows.find(key);
  if (row == rows.end()) {
    names_omitted_ |= rows.size() >= rows_max;
    row =
        rows.try_emplace(rows.size() < rows_max ? key : Key{key.span, std::string(other_names), {}})
            .first;
  }
  return row->second;
}

LatencyTable SpanView::table(const Rows& rows, Duration wall) const {
  LatencyTable table;
  table.title = "spans";
  table.by = {.span = true, .thread = options_.by_thread};
  table.show_histograms = options_.histograms;
  table.wall = wall;
  for (const auto& [key, figures] : rows) {
    LatencyRow row = figures;
    row.id = find_span_kind(key.span).value_or(SPAN_PAIR);
    row.span = key.span;
    row.name = key.name;
    if (key.tid) row.thread = ThreadKey{*key.tid, names_.at(*key.tid)};
    table.rows.push_back(std::move(row));
  }
  sort_rows(table, options_.sort, options_.top);
  return table;
}

void SpanView::tick(KernelTime now) {
  assembler_.tick(now);
}

void SpanView::interval(const SessionInfo& info, Duration wall) {
  if (intervals_) {
    sink_.section(std::make_shared<LatencySection>(table(since_last_, wall),
                                                   info.wall(info.start + (info.duration - wall))));
    since_last_.clear();
  }
  intervals_ = true;
}

void SpanView::end(SessionInfo info, const Receipt& receipt) {
  for (auto& [tid, comm] : names_) comm = full_name(info.names, tid, comm, QueueOfWork::left_out);
  LatencyTable all = table(total_, info.duration);
  all.unfinished = std::move(open_);
  sink_.section(std::make_shared<LatencySection>(all));
  if (unknown_ > 0)
    info.notes.push_back(fmt::format(
        "spans of kinds that only a newer version of Overdue knows: {}", grouped(unknown_)));
  if (open_omitted_ > 0)
    info.notes.push_back(fmt::format("{} more spans were open at the end: {} are listed",
                                     grouped(open_omitted_), grouped(open_spans_max)));
  if (names_omitted_)
    info.notes.push_back(fmt::format("the table has room for {} names; the rest is in rows '{}'",
                                     grouped(rows_max), other_names));
  sink_.end(info, receipt);
}

}  // namespace overdue
