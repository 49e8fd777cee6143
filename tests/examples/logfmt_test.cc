#include "logfmt.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/finding_sections.h"
#include "sinks/latency_sections.h"

namespace overdue {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string written(const SectionPtr& section) {
  std::string text;
  Output output(text);
  LogfmtSink sink(output);
  sink.begin({});
  sink.section(section);
  Receipt receipt;
  receipt.events = 7;
  sink.end({}, receipt);
  return text;
}

TEST(Logfmt, HasALineForAFinding) {
  Finding finding;
  finding.name = "fs\nync";
  finding.latency_ns = 2'310'000'000;
  finding.breakdown = Breakdown{};
  finding.breakdown->of(ShareKind::oncpu).ns = 5;
  const std::string text = written(std::make_shared<FindingSection>(finding));
  EXPECT_THAT(text, StartsWith("type=stall number=0"));
  EXPECT_THAT(text, HasSubstr(R"( name="fs\nync" )"));
  EXPECT_THAT(text, HasSubstr(" latency_ns=2310000000 breakdown_oncpu_ns=5 "));
}

TEST(Logfmt, EndsWithTheReportAndTheReceipt) {
  const std::string text = written(std::make_shared<LatencySection>());
  EXPECT_THAT(text, StartsWith("type=report overdue="));
  EXPECT_THAT(text, HasSubstr(" wall_ns=0 complete=true\ntype=receipt events=7 lost=0 "));
}

}  // namespace
}  // namespace overdue
