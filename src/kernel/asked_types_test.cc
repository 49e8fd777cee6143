#include "kernel/asked_types.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "kernel/kernel_btf.h"

namespace overdue {
namespace {

using Types = std::unique_ptr<btf, void (*)(btf*)>;

/// The types of an object that refers to a field of task_struct, an enum, and types no kernel has.
Types asking() {
  Types types(btf__new_empty(), btf__free);
  const int number = btf__add_int(types.get(), "int", 4, BTF_INT_SIGNED);
  btf__add_struct(types.get(), "task_struct", 4);
  btf__add_field(types.get(), "pid", number, 0, 0);
  btf__add_struct(types.get(), "sched_entity___older", 0);
  btf__add_enum(types.get(), "pid_type", 4);
  btf__add_struct(types.get(), "what_no_kernel_has", 4);
  return types;
}

class AskedTypes : public testing::Test {
 protected:
  void SetUp() override {
    kernel_ = kernel_btf();
    if (!kernel_) GTEST_SKIP() << "this kernel has no BTF";
    const Types object = asking();
    path_ = asked_types(object.get(), object.get());
    ASSERT_FALSE(path_.empty());
    asked_.reset(btf__parse(path_.c_str(), nullptr));
    ASSERT_TRUE(asked_);
  }
  static const btf_type* find(const btf* types, const char* name, std::uint32_t kind) {
    const int id = btf__find_by_name_kind(types, name, kind);
    return id > 0 ? btf__type_by_id(types, static_cast<std::uint32_t>(id)) : nullptr;
  }

  std::shared_ptr<btf> kernel_;
  std::string path_;
  Types asked_{nullptr, btf__free};
};

TEST_F(AskedTypes, AreAsTheKernelHasThem) {
  for (const char* name : {"task_struct", "sched_entity"}) {
    const btf_type* theirs = find(kernel_.get(), name, BTF_KIND_STRUCT);
    const btf_type* copied = find(asked_.get(), name, BTF_KIND_STRUCT);
    ASSERT_TRUE(theirs && copied) << name;
    EXPECT_EQ(copied->size, theirs->size);
    ASSERT_EQ(btf_vlen(copied), btf_vlen(theirs));
    for (unsigned i = 0; i < btf_vlen(copied); ++i) {
      const btf_member &one = btf_members(copied)[i], &other = btf_members(theirs)[i];
      EXPECT_STREQ(btf__name_by_offset(asked_.get(), one.name_off),
                   btf__name_by_offset(kernel_.get(), other.name_off));
      EXPECT_EQ(btf_member_bit_offset(copied, i), btf_member_bit_offset(theirs, i));
      EXPECT_EQ(btf_member_bitfield_size(copied, i), btf_member_bitfield_size(theirs, i));
      EXPECT_EQ(btf__resolve_size(asked_.get(), one.type),
                btf__resolve_size(kernel_.get(), other.type));
    }
  }
  const btf_type* theirs = find(kernel_.get(), "pid_type", BTF_KIND_ENUM);
  const btf_type* copied = find(asked_.get(), "pid_type", BTF_KIND_ENUM);
  ASSERT_TRUE(theirs && copied);
  EXPECT_EQ(btf_vlen(copied), btf_vlen(theirs));
}

TEST_F(AskedTypes, AreFewOfAll) {
  EXPECT_LT(btf__type_cnt(asked_.get()), btf__type_cnt(kernel_.get()) / 20);
  EXPECT_EQ(btf__find_by_name(asked_.get(), "what_no_kernel_has"), -ENOENT);
}

TEST_F(AskedTypes, AreLookedForOnce) {
  const Types object = asking();
  const std::string first = asked_types(&path_, object.get());
  EXPECT_EQ(asked_types(&path_, object.get()), first);
  EXPECT_NE(first, path_);
}

}  // namespace
}  // namespace overdue
