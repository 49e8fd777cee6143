#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/schema.h"
#include "core/session_info.h"
#include "trace/coding.h"

namespace overdue {

/// Payloads of INFO, RECEIPT and SCHEMA chunks. Encoding never exceeds trace_format::max_payload:
/// names of control groups and system calls are left out beyond it, and a note in the payload says
/// how many.
Bytes encode_info(const SessionInfo& info);
Bytes encode_receipt(const Receipt& receipt);
Bytes encode_schema(const Schema& schema);

/// Whatever of the payload can be understood; the rest keeps its default. Never throws on content.
SessionInfo decode_info(std::span<const std::byte> payload);
Receipt decode_receipt(std::span<const std::byte> payload);

/// A schema read from a file, with the memory its views point to.
class OwnedSchema {
 public:
  /// Null when the payload describes no usable record: id above 65535 or size out of bounds. Fields
  /// that do not fit into the record are left out; units and roles of newer versions become none,
  /// opaque and value.
  static std::unique_ptr<const OwnedSchema> decode(std::span<const std::byte> payload);

  OwnedSchema(const OwnedSchema&) = delete;
  OwnedSchema& operator=(const OwnedSchema&) = delete;

  const Schema& schema() const { return schema_; }

 private:
  explicit OwnedSchema(std::span<const std::byte> payload)
      : bytes_(payload.begin(), payload.end()) {}
  void add_field(std::span<const std::byte> list);

  Bytes bytes_;
  std::vector<Field> fields_;
  Schema schema_{};
};

}  // namespace overdue
