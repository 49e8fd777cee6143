#pragma once

#include <string>

namespace overdue {

/// The answer to `overdue --version`: one line; `verbose`: what this program was built from and
/// with, too.
std::string version_text(bool verbose);

}  // namespace overdue
