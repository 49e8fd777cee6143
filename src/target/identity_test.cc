#include "target/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace overdue {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr IdentityRequest as_root() {
  return {};
}

std::string failure(const IdentityRequest& request) {
  try {
    choose_identity(request);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 125);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(IdentityTest, WithoutSudoWeStayWhoWeAre) {
  EXPECT_FALSE(choose_identity(as_root()));
  IdentityRequest user;
  user.real_uid = user.effective_uid = 1000;
  EXPECT_FALSE(choose_identity(user));
  user.sudo_uid = "12";  // set by hand: without root it means nothing
  EXPECT_FALSE(choose_identity(user));
}

TEST(IdentityTest, SudoGivesTheCallingUser) {
  IdentityRequest request = as_root();
  request.sudo_uid = "65534";
  request.sudo_gid = "65534";
  const auto user = choose_identity(request);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 65534u);
  EXPECT_EQ(user->gid, 65534u);
  EXPECT_EQ(user->name, "nobody");
  EXPECT_THAT(user->groups, Contains(65534u));
  EXPECT_THAT(user->groups, testing::Not(Contains(0u)));
}

TEST(IdentityTest, PkexecAndDoasGiveTheCallingUser) {
  IdentityRequest request = as_root();
  request.pkexec_uid = "65534";
  EXPECT_EQ(choose_identity(request).value().name, "nobody");
  request.pkexec_uid = "4000000001";  // no such user, so no known group
  EXPECT_THAT(failure(request), HasSubstr("who called pkexec"));
  request = as_root();
  request.doas_user = "nobody";
  EXPECT_EQ(choose_identity(request).value().uid, 65534u);
  request.doas_user = "root";
  EXPECT_FALSE(choose_identity(request));
  request.doas_user = "no such user";
  EXPECT_THAT(failure(request), HasSubstr("who called doas"));
  request.sudo_uid = "65534";  // checked before DOAS_USER
  EXPECT_EQ(choose_identity(request).value().uid, 65534u);
}

TEST(IdentityTest, SudoUserUnknownToTheDatabaseKeepsItsNumbers) {
  IdentityRequest request = as_root();
  request.sudo_uid = "4000000001";
  request.sudo_gid = "4000000002";
  const auto user = choose_identity(request);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 4000000001u);
  EXPECT_EQ(user->name, "");
  EXPECT_THAT(user->groups, ElementsAre(4000000002u));
}

TEST(IdentityTest, RootCallingSudoStaysRoot) {
  IdentityRequest request = as_root();
  request.sudo_uid = "0";
  request.sudo_gid = "0";
  EXPECT_FALSE(choose_identity(request));
}

TEST(IdentityTest, SudoIdsThatAreNoneAreRefusedInsteadOfRunningAsRoot) {
  for (const char* text : {"", "x", "-1", "4294967295", "99999999999", "1 "}) {
    IdentityRequest request = as_root();
    request.sudo_uid = text;
    request.sudo_gid = "100";
    EXPECT_THAT(failure(request), HasSubstr("SUDO_UID")) << text;
    request.sudo_uid = "100";
    request.sudo_gid = text;
    EXPECT_THAT(failure(request), HasSubstr("SUDO_GID")) << text;
  }
}

TEST(IdentityTest, MissingSudoGidIsTakenFromTheDatabase) {
  IdentityRequest request = as_root();
  request.sudo_uid = "65534";
  EXPECT_EQ(choose_identity(request)->gid, 65534u);
  request.sudo_uid = "4000000001";
  EXPECT_THAT(failure(request), HasSubstr("cannot tell who called sudo"));
}

TEST(IdentityTest, UserOptionOverridesSudo) {
  IdentityRequest request = as_root();
  request.sudo_uid = "1";
  request.sudo_gid = "1";
  request.user = "nobody";
  EXPECT_EQ(choose_identity(request)->uid, 65534u);
  request.user = "65534";
  EXPECT_EQ(choose_identity(request)->name, "nobody");
  request.user = "root";
  EXPECT_EQ(choose_identity(request)->uid, 0u);
  request.user = "4000000001";
  EXPECT_EQ(choose_identity(request)->gid, 4000000001u);
}

TEST(IdentityTest, BadUsersAreNamed) {
  IdentityRequest request = as_root();
  request.user = "no-such-user-\x1b";
  EXPECT_THAT(failure(request), HasSubstr("no user 'no-such-user-\\x1b'"));
  request.user = "4294967295";
  EXPECT_THAT(failure(request), HasSubstr("no user"));
  request.user = "";
  EXPECT_THAT(failure(request), HasSubstr("empty"));
}

TEST(IdentityTest, OnlyRootMayChooseAnotherUser) {
  IdentityRequest request;
  request.real_uid = request.effective_uid = 65534;
  request.user = "root";
  EXPECT_THAT(failure(request), HasSubstr("only root can"));
  request.user = "nobody";
  EXPECT_FALSE(choose_identity(request));
}

TEST(IdentityTest, SetUserIdProgramGoesBackToItsCaller) {
  IdentityRequest request;
  request.real_uid = 65534;
  request.real_gid = 65534;
  request.effective_uid = 0;
  request.sudo_uid = "0";  // set by the caller
  request.sudo_gid = "0";
  EXPECT_EQ(choose_identity(request)->uid, 65534u);
  request.user = "root";
  EXPECT_THAT(failure(request), HasSubstr("set-user-id"));
}

}  // namespace
}  // namespace overdue
