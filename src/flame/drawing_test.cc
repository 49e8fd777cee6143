#include "flame/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flame/folded.h"
#include "flame/layout.h"

namespace overdue {
namespace {

using testing::HasSubstr;
using testing::Not;

StackTree tree_of(std::string_view folded) {
  StackTree tree;
  FoldedReader reader([&](const FoldedStack& stack) { tree.add(stack.frames, stack.weight); });
  reader.feed(folded);
  reader.finish();
  return tree;
}

std::size_t occurrences(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Layout, PutsChildrenSideBySide) {
  const StackTree tree = tree_of("t;b 2\nt;a 3\nt 1\n");
  const Layout layout = lay_out(tree, 0);
  ASSERT_EQ(layout.boxes.size(), 4u);
  EXPECT_EQ(layout.depth, 2u);
  EXPECT_EQ(tree.name(layout.boxes[2].node), "a");
  EXPECT_EQ(layout.boxes[2].start, 0u);
  EXPECT_EQ(layout.boxes[3].start, 3u);
}

TEST(Layout, CountsWhatIsTooNarrow) {
  const StackTree tree = tree_of("t;a;b;c 1\nt;d 99\n");
  const Layout layout = lay_out(tree, 2);
  ASSERT_EQ(layout.boxes.size(), 3u);
  EXPECT_EQ(layout.boxes[2].start, 1u) << "what is not drawn keeps its place";
  EXPECT_EQ(layout.too_narrow, 3u);
  EXPECT_EQ(layout.too_narrow_weight, 1u);
  EXPECT_EQ(layout.boxes[1].too_narrow, 3u) << "counted at their parent";
}

TEST(Drawing, LetsNothingHostileThrough) {
  StackTree tree;
  for (const char* name : {"<script>alert(1)</script>", "\" onload='alert(1)'", "]]></script>",
                           "a\nb", "\u200fx", "\xff\xfe", "<!-- &amp; -->"})
    tree.add(std::vector<FoldedFrame>{{name, FrameKind::thread}, {name, FrameKind::user}}, 10);
  const std::string evil = "</title><script>alert(2)</script>\x01\n";
  for (const std::string& text :
       {flame_svg(tree, {.title = evil, .subtitle = evil, .footer = evil, .counted = evil}),
        flame_html(tree, {.title = evil, .subtitle = evil, .footer = evil, .counted = evil})}) {
    EXPECT_EQ(occurrences(text, "<script>"), 1u) << "ours";
    EXPECT_EQ(occurrences(text, "</script>"), 1u);
    EXPECT_EQ(occurrences(text, "]]>"), 2u) << "of our style and our script";
    EXPECT_THAT(text, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
    EXPECT_THAT(text, HasSubstr("\\xe2\\x80\\x8fx"));
    EXPECT_THAT(text, HasSubstr("\\xff\\xfe"));
    EXPECT_THAT(text, HasSubstr("a\\nb"));
    EXPECT_THAT(text, Not(HasSubstr("onload='")));
    for (const char c : text)
      ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  }
}

TEST(Drawing, ComesFromNowhereElse) {
  const StackTree tree = tree_of("t;a 1\n");
  for (const std::string& text : {flame_svg(tree, {}), flame_html(tree, {})}) {
    std::string_view rest = text;
    for (std::size_t at = rest.find("http"); at != rest.npos; at = rest.find("http")) {
      rest.remove_prefix(at);
      EXPECT_TRUE(rest.starts_with("http://www.w3.org/") || rest.starts_with("http-equiv"))
          << rest.substr(0, 60);
      rest.remove_prefix(4);
    }
    for (const char* word : {"src=", "href", "@import", "url("})
      EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

TEST(Drawing, SaysWhatItLeavesOut) {
  StackTree tree(WeightUnit::samples, {.nodes = 5});
  for (int i = 0; i < 9; ++i)
    tree.add(
        std::vector<FoldedFrame>{{"t", FrameKind::thread}, {std::to_string(i), FrameKind::user}},
        1000);
  tree.add(std::vector<FoldedFrame>{{"s", FrameKind::thread}}, 1);
  const std::string text = flame_svg(tree, {.footer = "a receipt", .min_width = 500});
  EXPECT_THAT(text, HasSubstr("a receipt"));
  EXPECT_THAT(text, HasSubstr("merged into (other)"));
  EXPECT_THAT(text, HasSubstr("narrower than 500 px"));
}

TEST(Drawing, BoundsItsSizeByTheWidthOfFrames) {
  StackTree tree;
  for (int i = 0; i < 100'000; ++i)
    tree.add(
        std::vector<FoldedFrame>{{"t", FrameKind::thread}, {std::to_string(i), FrameKind::user}},
        1);
  EXPECT_LT(flame_svg(tree, {}).size(), 100'000u);
  EXPECT_EQ(occurrences(flame_svg(tree, {.min_width = 0}), "data-d="), 100'002u);
}

TEST(Drawing, ShowsWhichWayAShareMoved) {
  StackTree tree = tree_of("t;grown 60\nt;same 30\nt;shrunk 10\n");
  const auto before = [&](const char* name, std::uint64_t weight) {
    tree.add_before(std::vector<FoldedFrame>{{"t", FrameKind::thread}, {name, FrameKind::user}},
                    weight);
  };
  before("grown", 100);
  before("same", 300);
  before("shrunk", 300);
  before("gone", 300);
  const std::string text = flame_svg(tree, {.differences = true});
  EXPECT_THAT(text, HasSubstr("class=\"d8\" data-d=\"2\" data-s=\"0\" data-w=\"60\""));
  EXPECT_THAT(text, HasSubstr("class=\"d4\" data-d=\"2\" data-s=\"60\" data-w=\"30\""));
  EXPECT_THAT(text, testing::ContainsRegex("class=\"d[0-3]\" data-d=\"2\" data-s=\"90\""));
  EXPECT_THAT(text, HasSubstr("before: 100 samples · 10.0% of all; +50.00 points"));
  EXPECT_THAT(text, HasSubstr("1 frame of the earlier measurement only"));
}

TEST(Drawing, TakesNothingAndTheLargest) {
  EXPECT_THAT(flame_svg(StackTree(), {}), HasSubstr("No stacks."));
  StackTree tree;
  tree.add(std::vector<FoldedFrame>{{"t", FrameKind::thread}}, ~std::uint64_t{0});
  EXPECT_THAT(flame_svg(tree, {}), HasSubstr("data-w=\"9007199254740991\"")) << "exact in a script";
}

}  // namespace
}  // namespace overdue
