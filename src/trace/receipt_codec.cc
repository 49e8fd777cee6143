#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/codec.h"
#include "trace/field_list.h"
#include "trace/format.h"

namespace overdue {
namespace {

using enum trace_format::ReceiptTag;
using enum trace_format::LossTag;

void decode_loss(std::span<const std::byte> bytes, Receipt& receipt) {
  std::string_view reason;
  std::uint64_t count = 0;
  FieldListReader list(bytes);
  while (const auto field = list.next()) {
    if (field->tag == loss_reason) reason = field->text();
    if (field->tag == loss_count) count = field->number();
  }
  receipt.lost_by[std::string(reason)] = count;
}

}  // namespace

Bytes encode_receipt(const Receipt& receipt) {
  Bytes out;
  FieldListWriter list(out);
  list.number(receipt_events, receipt.events);
  list.number(receipt_unmatched, receipt.unmatched);
  list.number(receipt_cut, receipt.cut);
  if (receipt.refused > 0) list.number(receipt_refused, receipt.refused);
  list.number(receipt_probe_runs, receipt.probe_runs);
  const auto known = [&list](std::uint16_t tag, std::optional<std::uint64_t> value) {
    if (value) list.number(tag, *value);
  };
  known(receipt_probe_ns, receipt.probe_ns);
  known(receipt_probe_error_ns, receipt.probe_error_ns);
  known(receipt_probe_target_ns, receipt.probe_target_ns);
  known(receipt_target_cpu_ns, receipt.target_cpu_ns);
  known(receipt_own_cpu_ns, receipt.own.cpu_ns);
  known(receipt_own_memory_bytes, receipt.own.memory_bytes);
  known(receipt_bpf_bytes, receipt.own.bpf_bytes);
  for (const auto& entry : receipt.lost_by)
    list.list(receipt_lost, [&entry](FieldListWriter& inner) {
      inner.text(loss_reason, bounded_text(entry.first));
      inner.number(loss_count, entry.second);
    });
  return out;
}

Receipt decode_receipt(std::span<const std::byte> payload) {
  Receipt receipt;
  FieldListReader list(payload);
  while (const auto field = list.next()) {
    switch (field->tag) {
      case receipt_events:
        receipt.events = field->number();
        break;
      case receipt_unmatched:
        receipt.unmatched = field->number();
        break;
      case receipt_cut:
        receipt.cut = field->number();
        break;
      case receipt_refused:
        receipt.refused = field->number();
        break;
      case receipt_probe_runs:
        receipt.probe_runs = field->number();
        break;
      case receipt_probe_ns:
        // Older writers wrote 0 for a cost too small to measure.
        if (field->number() > 0) receipt.probe_ns = field->number();
        break;
      case receipt_probe_error_ns:
        receipt.probe_error_ns = field->number();
        break;
      case receipt_probe_target_ns:
        receipt.probe_target_ns = field->number();
        break;
      case receipt_own_cpu_ns:
        receipt.own.cpu_ns = field->number();
        break;
      case receipt_own_memory_bytes:
        receipt.own.memory_bytes = field->number();
        break;
      case receipt_bpf_bytes:
        receipt.own.bpf_bytes = field->number();
        break;
      case receipt_target_cpu_ns:
        receipt.target_cpu_ns = field->number();
        break;
      case receipt_lost:
        decode_loss(field->value, receipt);
        break;
      default:
        break;
    }
  }
  return receipt;
}

}  // namespace overdue
