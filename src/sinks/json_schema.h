#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/schema.h"
#include "core/section.h"

namespace overdue {

/// The sections that a report can consist of, with any content.
struct ReportShape {
  std::string_view help;
  std::vector<SectionPtr> sections;
};

/// A section that is a line of a stream, and the types of such lines.
struct LineShape {
  std::vector<std::string_view> types;
  std::string_view help;
  SectionPtr section;
};

/// A document that is no report of a session.
struct DocumentShape {
  std::string_view help;
  void (*describe)(Members& member);
};

/// The JSON Schema (draft 2020-12) of every document and NDJSON line that Overdue writes, for
/// `overdue schema`: what the sections describe, and record types by their fields.
std::string json_schema(std::span<const Schema* const> records,
                        std::span<const ReportShape> reports, std::span<const LineShape> lines,
                        std::span<const DocumentShape> documents = {});

}  // namespace overdue
