#pragma once

#include <string>

namespace overdue {

/// The answer to `overdue --version`: one line. `verbose`: with the sources and tools of the build
/// too.
std::string version_text(bool verbose);

}  // namespace overdue
