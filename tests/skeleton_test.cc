// An object that was built against other types than this kernel's loses only the parts that differ.
#include "kernel/skeleton.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bpf/wire.h"
#include "kernel/features.h"
#include "optional_program.skel.h"

namespace overdue {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OptionalParts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const Support allowed = kernel.privileges(); !allowed.yes) GTEST_SKIP() << allowed.missing;
  }
  void hide() {
    bpf.hide_unlike_functions([this]() -> const TracepointTypes& { return kernel.types(); });
  }
  void choose(std::initializer_list<bpf_program*> programs) {
    for (bpf_program* program : programs) bpf_program__set_autoload(program, true);
  }

  const Kernel kernel;
  Skeleton<optional_program_bpf> bpf{"optional"};
};

TEST_F(OptionalParts, AFunctionOfAnotherPrototypeTakesTheObjectDownUnlessHidden) {
  choose({bpf->progs.fits});
  try {
    bpf.load();
    EXPECT_GE(libbpf_minor_version(), 2u) << "libbpf 1.1 refuses the object";  // newer: absent
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("vfs_read"), HasSubstr("does not know a part")));
    EXPECT_THAT(error.log(), HasSubstr("vfs_read"));
  }
}

TEST_F(OptionalParts, AHiddenFunctionIsAbsentAndTheRestLoads) {
  EXPECT_FALSE(bpf.can_call(kernel.types(), "vfs_read"));
  hide();
  EXPECT_FALSE(bpf.can_call(kernel.types(), "vfs_read"));
  choose({bpf->progs.fits});
  bpf.load();
  EXPECT_GE(bpf_program__fd(bpf->progs.fits), 0);
  EXPECT_LT(bpf_program__fd(bpf->progs.calls_unlike_function), 0);
}

TEST_F(OptionalParts, ARefusedHookIsLeftOutAndNamed) {
  hide();
  unsigned configured = 0;
  const RefusedPrograms refused = bpf.load_what_works(
      [&](const RefusedPrograms& so_far) {
        ++configured;
        choose({bpf->progs.fits});
        if (!is_refused(so_far, bpf->progs.reads_changed_field))
          choose({bpf->progs.reads_changed_field});
      },
      [&](const bpf_program* program) { return program == bpf->progs.reads_changed_field; });
  EXPECT_EQ(configured, 2u);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].name, "reads_changed_field");
  EXPECT_THAT(to_sentences(refused).at(0),
              AllOf(HasSubstr("tp_btf/sched_switch"), HasSubstr("on_cpu")));
  const Link link = attach(bpf->progs.fits);
  const auto switches = [&] { return __atomic_load_n(&bpf->bss->switches, __ATOMIC_RELAXED); };
  for (int tries = 0; tries < 5'000 && switches() == 0; ++tries) usleep(1'000);
  EXPECT_GT(switches(), 0u);
}

TEST_F(OptionalParts, AHookThatIsNeededTakesTheObjectDownAndNamesTheField) {
  hide();
  try {
    bpf.load_what_works([&](const RefusedPrograms&) { choose({bpf->progs.reads_changed_field}); },
                        [](const bpf_program*) { return false; });
    FAIL() << "the field has another size in every kernel";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("on_cpu"));
    EXPECT_THAT(error.log(), HasSubstr("reads_changed_field"));
  }
}

}  // namespace
}  // namespace overdue
