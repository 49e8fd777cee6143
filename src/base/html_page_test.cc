#include "base/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HtmlPage, NamesAHashAsPoliciesDo) {
  // printf '' | openssl dgst -sha256 -binary | base64
  EXPECT_EQ(csp_hash("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
}

TEST(HtmlPage, EscapesAHostileTitle) {
  const std::string page = html_page_begin({.title = "</title><script>\u202e", .style = "p{}"});
  EXPECT_THAT(page, HasSubstr("<title>&lt;/title&gt;&lt;script&gt;\\xe2\\x80\\xae</title>"));
  EXPECT_THAT(page, HasSubstr("<style>p{}</style>"));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
}

TEST(HtmlPage, AllowsNoConnection) {
  const std::string page = html_page_begin(
      {.title = "t", .style = "", .styles_allowed = "'a'", .scripts_allowed = "'b'"});
  EXPECT_THAT(page, HasSubstr("\"default-src 'none'; script-src 'b'; style-src 'a'; base-uri "
                              "'none'; form-action 'none'\""));
}

}  // namespace
}  // namespace overdue
