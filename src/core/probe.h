#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/schema.h"

namespace overdue {

class Kernel;
struct SpanSource;

/// Whether this kernel allows a feature; if not, what is missing, and the remedy.
struct Support {
  bool yes = true;
  std::string missing;  ///< "no BTF for the running kernel"
  std::string remedy;   ///< "boot a kernel with CONFIG_DEBUG_INFO_BTF=y"
  static Support no(std::string missing, std::string remedy) {
    return {false, std::move(missing), std::move(remedy)};
  }
};

/// A probe before it runs: data only, so `overdue probes` needs no kernel and no root.
struct ProbeInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view manual;  ///< the probe's .md page
  std::span<const Schema* const> schemas;
  Support (*support)(const Kernel&);
  const SpanSource* spans = nullptr;  ///< of a probe that measures spans alone
};

/// Every probe of this build, in the order of src/probes/CMakeLists.txt.
std::span<const ProbeInfo* const> all_probes();

/// The schemas of all probes, each once: span probes share one.
std::vector<const Schema*> all_schemas();

/// The schema with this id; null for records of newer versions.
const Schema* find_schema(std::uint16_t id);

}  // namespace overdue
