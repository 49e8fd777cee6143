// Drawings of a small tree against flame/, byte for byte except the style and the script, which are
// copies of files in src/flame. To accept a change, run with OVERDUE_UPDATE_GOLDEN=1 and read the
// diff.
#include <string>

#include <gtest/gtest.h>

#include "flame/drawing.h"
#include "flame/folded.h"
#include "golden.h"

namespace overdue {
namespace {

constexpr std::string_view stacks =
    "redis-server;main;aeMain;readQuery;read_[s];vfs_read_[k] 310\n"
    "redis-server;main;aeMain;readQuery 90\n"
    "redis-server;main;aeMain;epoll_wait_[s];schedule_[k];off the CPU_[o] 400\n"
    "bio_close;start_thread;[unknown];<lambda()>::operator()() & co 199\n"
    "bio_close;start_thread;close_\\x0a\\xff 1\n";

void add(std::string_view folded, const FoldedReader::OnStack& on_stack) {
  FoldedReader reader(on_stack);
  reader.feed(folded);
  reader.finish();
}

StackTree small_tree() {
  StackTree tree(WeightUnit::microseconds);
  add(stacks, [&](const FoldedStack& stack) { tree.add(stack.frames, stack.weight); });
  return tree;
}

/// The drawing without the text between CDATA marks.
std::string without_assets(std::string text) {
  for (std::size_t at = 0; (at = text.find("<![CDATA[", at)) != text.npos; at += 9)
    text.erase(at + 9, text.find("]]>", at) - at - 9);
  return text;
}

TEST(FlameGolden, Svg) {
  DrawingOptions options;
  options.title = "Redis <b>";
  options.footer = "5 stacks, 0 lost";
  options.min_width = 2;
  expect_golden("flame/small.svg", without_assets(flame_svg(small_tree(), options)));
}

TEST(FlameGolden, Html) {
  DrawingOptions options;
  options.icicle = true;
  expect_golden("flame/icicle.html", without_assets(flame_html(small_tree(), options)));
}

TEST(FlameGolden, Differences) {
  StackTree tree = small_tree();
  add("redis-server;main;aeMain;readQuery 200\nbio_close;start_thread;gone 200\n",
      [&](const FoldedStack& stack) { tree.add_before(stack.frames, stack.weight); });
  DrawingOptions options;
  options.differences = true;
  expect_golden("flame/difference.svg", without_assets(flame_svg(tree, options)));
}

TEST(FlameGolden, Folded) {
  std::string text;
  append_folded(text, small_tree());
  expect_golden("flame/small.folded", text);
}

}  // namespace
}  // namespace overdue
