#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <string>

#include "sinks/finding_fixture.h"
#include "sinks/text_finding.h"

namespace overdue {

/// Findings in text, with times of day in UTC.
class FindingText : public ::testing::Test {
 protected:
  FindingText() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  static std::string text_of(const Finding& finding, const FindingTextOptions& options = {}) {
    return finding_text(finding, SessionInfo{}, options);
  }
};

}  // namespace overdue
