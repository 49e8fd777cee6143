#include "target/user_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "target/fake_tree.h"
#include "target/identity.h"

namespace overdue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class UserDatabaseTest : public testing::Test {
 protected:
  UserDatabaseTest() {
    tree_.file("passwd",
               "root:x:0:0:root:/root:/bin/sh\n"
               "+::::::\nno-fields\nlargest:x:4294967295:0::/:\nnot-a-number:x:x:0::/:\n"
               "anna:x:1000:100:Anna,,,:/home/anna:/bin/sh\n"
               "1001:x:7:7::/:/bin/sh\n");
    tree_.file("group", "root:x:0:\nusers:x:100:anna\nring:x:30:bert,anna\nannas:x:31:anna2\n");
  }

  /// A getent that answers with `script`.
  void install_getent(const std::string& script) {
    tree_.file("getent", "#!/bin/sh\n" + script);
    std::filesystem::permissions(tree_ / "getent", std::filesystem::perms::owner_all);
  }

  UserDatabase database() const {
    return UserDatabase({tree_ / "passwd", tree_ / "group", tree_ / "getent"});
  }

  FakeTree tree_;
};

TEST_F(UserDatabaseTest, FilesAnswerWhereThereIsNoGetent) {
  const auto anna = database().by_name("anna");
  ASSERT_TRUE(anna);
  EXPECT_EQ(anna->uid, 1000u);
  EXPECT_EQ(anna->gid, 100u);
  EXPECT_EQ(anna->home, "/home/anna");
  EXPECT_EQ(database().by_id(1000)->name, "anna");
  EXPECT_THAT(database().groups_of(*anna), ElementsAre(100u, 30u));
  EXPECT_FALSE(database().has_getent());
}

TEST_F(UserDatabaseTest, ANameIsNotTakenForANumber) {
  EXPECT_EQ(database().by_name("1001")->uid, 7u);
  EXPECT_FALSE(database().by_id(1001));
  EXPECT_FALSE(database().by_name("1000"));
}

TEST_F(UserDatabaseTest, LinesThatAreNoUsersAreSkipped) {
  for (const char* name : {"", "+", "no-fields", "largest", "not-a-number", "ann", "anna2"})
    EXPECT_FALSE(database().by_name(name)) << name;
}

TEST_F(UserDatabaseTest, GetentAnswersFirst) {
  install_getent(
      "[ \"$2\" = -- ] || exit 1\n"
      "case \"$1 $3\" in\n"
      "'passwd carla' | 'passwd 2000') echo 'carla:*:2000:200::/home/carla:/bin/sh' ;;\n"
      "'initgroups carla') echo 'carla                 200 201 202' ;;\n"
      "*) exit 2 ;;\n"
      "esac\n");
  const auto carla = database().by_name("carla");
  ASSERT_TRUE(carla);
  EXPECT_EQ(carla->uid, 2000u);
  EXPECT_EQ(database().by_id(2000)->name, "carla");
  EXPECT_THAT(database().groups_of(*carla), ElementsAre(200u, 201u, 202u));
  // The files answer for users that getent does not know.
  EXPECT_THAT(database().groups_of(*database().by_name("anna")), ElementsAre(100u, 30u));
}

TEST_F(UserDatabaseTest, AnAnswerAboutAnotherUserIsIgnored) {
  install_getent("echo 'root:x:0:0::/root:/bin/sh'\n");
  EXPECT_FALSE(database().by_name("carla"));
  EXPECT_FALSE(database().by_id(2000));
}

TEST_F(UserDatabaseTest, GetentDoesNotSeeOurEnvironment) {
  setenv("OVERDUE_TEST_SECRET", "1", 1);
  install_getent("echo \"user:x:2000:200::/${OVERDUE_TEST_SECRET-empty}:/bin/sh\"\n");
  EXPECT_EQ(database().by_id(2000)->home, "/empty");
  unsetenv("OVERDUE_TEST_SECRET");
}

TEST_F(UserDatabaseTest, WithoutGetentTheHintAsksForTheNumber) {
  IdentityRequest request;
  request.user = "carla";
  try {
    choose_identity(request, database());
    FAIL() << "carla is unknown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no user 'carla'"));
    EXPECT_THAT(error.hint(), HasSubstr("id -u"));
  }
  request.user = "2000";
  EXPECT_EQ(choose_identity(request, database())->uid, 2000u);
}

}  // namespace
}  // namespace overdue
