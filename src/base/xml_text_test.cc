#include "base/xml_text.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

TEST(XmlText, MakesTheUnseenVisible) {
  EXPECT_EQ(visible("a\nb\tc\x01\x7f\xff"), "a\\nb\\tc\\x01\\x7f\\xff");
  EXPECT_EQ(visible("a\u200fb\u200ec\u061cd"), "a\\xe2\\x80\\x8fb\\xe2\\x80\\x8ec\\xd8\\x9cd");
  EXPECT_EQ(visible("\u202egpj.exe"), "\\xe2\\x80\\xaegpj.exe");
  EXPECT_EQ(visible("\ufeff\uffff\ufffe\u2028"),
            "\\xef\\xbb\\xbf\\xef\\xbf\\xbf\\xef\\xbf\\xbe\\xe2\\x80\\xa8");
  EXPECT_EQ(visible("naïve שלום 调用 🔥"), "naïve שלום 调用 🔥");
  EXPECT_EQ(visible("\xc3"), "\\xc3");
  EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
}

TEST(XmlText, Escapes) {
  EXPECT_EQ(xml_escaped("<a href=\"x\">&'</a>]]>"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;]]&gt;");
}

TEST(XmlText, FitsIntoColumns) {
  EXPECT_EQ(fitted("main", 4), "main");
  EXPECT_EQ(fitted("memcpy", 4), "mem…");
  EXPECT_EQ(fitted("memcpy", 2), "");
  EXPECT_EQ(columns_of("调用a"), 5u);
  EXPECT_EQ(fitted("调用调用", 4), "调…");
}

}  // namespace
}  // namespace overdue
