// Functions and USDT probes of a program whose calls are known.
#include <gtest/gtest.h>

#include "probes/pairs/pairs_fixture.h"
#include "symbols/elf_events.h"
#include "symbols/open_file.h"

namespace overdue {
namespace {

class UserPairsTest : public KernelTest {};

const std::string fixture_program = PAIRS_FIXTURE;

/// A child that becomes the fixture, which waits for the gate before it calls anything.
class Fixture {
 public:
  explicit Fixture(const std::vector<std::string>& arguments)
      : child_([arguments](Child& self) {
          std::vector<char*> words{const_cast<char*>(fixture_program.c_str())};
          for (const std::string& word : arguments)
            words.push_back(const_cast<char*>(word.c_str()));
          words.push_back(nullptr);
          self.step();
          execv(words[0], words.data());
          _exit(9);
        }) {
    child_.run_step();
  }
  void run() {
    child_.go();
    EXPECT_EQ(child_.end(), 0);
  }
  const Child& child() const { return child_; }

 private:
  Child child_;
};

TEST_F(UserPairsTest, CallsOfAUserFunctionAreCountedExactly) {
  Fixture fixture({"sleep", "5", "3000"});
  PairsSession measured(
      rules_for(fixture.child()),
      {"call=begin:uprobe:" + fixture_program + ":fixture_sleep,end:uretprobe:" + fixture_program +
           ":fixture_sleep,key:tid",
       "third=begin:uprobe:" + fixture_program + ":fixture_sleep,end:uretprobe:" + fixture_program +
           ":fixture_sleep,key:tid,filter:arg1 == 3 && read_u32(arg2) == 0x12345678 && "
           "arg3 == \"a fixture of tests\"",
       "odd=begin:uprobe:" + fixture_program + ":fixture_sleep,end:uretprobe:" + fixture_program +
           ":fixture_sleep,key:tid,filter:arg1 & 1 == 1,end-filter:s32(ret) < 0"});
  measured.arm();
  fixture.run();
  measured.finish();
  const auto calls = measured.ended("call");
  ASSERT_EQ(calls.size(), 5u);
  for (const auto& call : calls) {
    EXPECT_GE(call.latency_ns, 3'000'000u);
    EXPECT_EQ(call.subject, fixture.child().pid());
  }
  EXPECT_EQ(measured.ended("third").size(), 1u);
  EXPECT_EQ(measured.ended("odd").size(), 2u) << "calls 1 and 3; 0, 2, 4 are even";
  EXPECT_EQ(measured.probe->counts(0).begins, 5u);
  EXPECT_EQ(measured.probe->counts(0).ends, 5u);
}

TEST_F(UserPairsTest, CallsInsideCallsArePairedByTheStackPointer) {
  Fixture fixture({"recurse", "4"});
  const std::string events = "begin:uprobe:" + fixture_program +
                             ":fixture_recurse,end:uretprobe:" + fixture_program +
                             ":fixture_recurse,";
  PairsSession measured(
      rules_for(fixture.child()),
      {"by-tid=" + events + "key:tid", "by-depth=" + events + "key:tid;sp,end-key:tid;sp - 8"});
  measured.arm();
  fixture.run();
  measured.finish();
  EXPECT_EQ(measured.ended("by-tid").size(), 1u) << "the innermost";
  EXPECT_EQ(measured.probe->counts(0).replaced, 3u);
  EXPECT_EQ(measured.probe->counts(0).unmatched, 3u);
  EXPECT_EQ(measured.session.receipt().unmatched, 6u);
  const auto nested = measured.ended("by-depth");
  ASSERT_EQ(nested.size(), 4u);
  for (std::size_t i = 1; i < nested.size(); ++i)
    EXPECT_GT(nested[i].latency_ns, nested[i - 1].latency_ns) << "outer calls take longer";
  EXPECT_EQ(measured.probe->counts(1).replaced, 0u);
}

TEST_F(UserPairsTest, UsdtProbesAndTheirArguments) {
  Fixture fixture({"usdt", "6"});
  if (find_usdt(FileBytes(open_regular(fixture_program)), "fixture", "begins").sites.empty())
    GTEST_SKIP() << "the fixture was built without <sys/sdt.h>";
  const std::string events = "begin:usdt:" + fixture_program +
                             ":fixture:begins,end:usdt:" + fixture_program + ":fixture:ends,";
  PairsSession measured(
      rules_for(fixture.child()),
      {"all=" + events + "key:arg0", "two=" + events + "key:arg0,filter:arg0 == 2 && arg1 == -7",
       "named=" + events + "key:arg0,filter:arg2 == \"third\""});
  measured.arm();
  fixture.run();
  measured.finish();
  const auto all = measured.ended("all");
  ASSERT_EQ(all.size(), 6u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].subject, i);
  ASSERT_EQ(measured.ended("two").size(), 1u);
  EXPECT_EQ(measured.ended("two")[0].subject, 2u);
  EXPECT_EQ(measured.ended("named").size(), 1u);
}

TEST_F(UserPairsTest, AUsdtProbeInTwoPlacesIsPassedBecauseWeListen) {
  Fixture fixture({"guarded", "6"});
  const UsdtPlaces places =
      find_usdt(FileBytes(open_regular(fixture_program)), "fixture", "guarded");
  if (places.sites.empty()) GTEST_SKIP() << "the fixture was built without <sys/sdt.h>";
  ASSERT_EQ(places.sites.size(), 2u);
  EXPECT_NE(places.sites[0].arguments, places.sites[1].arguments);
  EXPECT_NE(places.sites[0].semaphore, 0u);
  const std::string events = "begin:usdt:" + fixture_program +
                             ":fixture:guarded,end:usdt:" + fixture_program + ":fixture:ends,";
  PairsSession measured(rules_for(fixture.child()),
                        {"all=" + events + "key:tid", "odd=" + events + "key:tid,filter:arg0 == 3",
                         "even=" + events + "key:tid,filter:arg0 == 102"});
  measured.arm();
  fixture.run();
  measured.finish();
  EXPECT_EQ(measured.ended("all").size(), 6u);
  EXPECT_EQ(measured.ended("odd").size(), 1u);
  EXPECT_EQ(measured.ended("even").size(), 1u);
  EXPECT_EQ(measured.session.receipt().lost(), 0u);
}

}  // namespace
}  // namespace overdue
