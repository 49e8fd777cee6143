#include "kernel/glob.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"

namespace overdue {
namespace {

TEST(Glob, AgreesWithTheOneOfUserSpace) {
  const char* patterns[] = {"",         "*",           "?",         "redis*",  "*server",
                            "re*s*r",   "a?c",         "[a-c]x",    "[!a]*",   "[]]x",
                            "[",        "[a",          "w-[0-9]*",  "\\*lit",  "**",
                            "*?*",      "a*b*c",       "kworker/*", "[!]]",    "x[a-]y",
                            "postgres", "jbd2/vda-??", "*[xyz]*z",  "[^q]uit", "a[b]c*"};
  const char* names[] = {
      "",     "a",           "redis-server", "server",     "res-r",  "abc",  "bx",  "zzz",
      "]x",   "[",           "[a",           "w-",         "w-1",    "*lit", "lit", "aXbYc",
      "abcb", "kworker/0:1", "postgres",     "jbd2/vda-8", "x",      "xa",   "xz",  "quit",
      "suit", "x-y",         "xay",          "abczzzz",    "\x1b[2J"};
  for (const char* pattern : patterns)
    for (const char* name : names)
      EXPECT_EQ(matches(compile_glob(pattern), name), glob_matches(pattern, name))
          << pattern << " on " << name;
}

TEST(Glob, RefusesWhatNoNameCanMatch) {
  EXPECT_NO_THROW(compile_glob("123456789012345"));
  EXPECT_NO_THROW(compile_glob("[a-z][a-z][a-z]*[0-9]"));
  EXPECT_THROW(compile_glob("1234567890123456"), Error);
}

}  // namespace
}  // namespace overdue
