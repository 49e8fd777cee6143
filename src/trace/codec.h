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
/// names of control groups, system calls and threads beyond it are left out, and a note in the
/// payload has their number.
Bytes encode_info(const SessionInfo& info);
Bytes encode_receipt(const Receipt& receipt);
Bytes encode_schema(const Schema& schema);

/// Decodes the readable parts of the payload; others keep their defaults. Never throws on content.
SessionInfo decode_info(std::span<const std::byte> payload);
Receipt decode_receipt(std::span<const std::byte> payload);

/// A schema read from a file, with the memory to which its views point.
class OwnedSchema {
 public:
  /// Null if the payload describes no usable record: an id above 65535, or a size out of bounds.
  /// Fields that do not fit into the record are left out. Units of newer versions become none or
  /// opaque, roles become value.
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
