#include "probes/pairs/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue {
namespace {

using ::testing::HasSubstr;

/// The message and the hint of a failure.
std::string failure_of(std::string_view text) {
  try {
    parse_pair(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return fmt::format("{} | {}", error.what(), error.hint());
  }
  return "no error";
}

/// An expression as its tree, fully in parentheses.
std::string tree(const Expression& node) {
  using Kind = Expression::Kind;
  switch (node.kind) {
    case Kind::number:
      return fmt::to_string(node.number);
    case Kind::text:
      return fmt::format("\"{}\"", node.word);
    case Kind::name:
      return node.word;
    case Kind::member:
      return fmt::format("{}.{}", tree(node.parts[0]), node.word);
    case Kind::index:
      return fmt::format("{}[{}]", tree(node.parts[0]), node.number);
    case Kind::unary:
      return fmt::format("({}{})", node.word, tree(node.parts[0]));
    case Kind::binary:
      return fmt::format("({} {} {})", tree(node.parts[0]), node.word, tree(node.parts[1]));
    case Kind::cast:
      return fmt::format("{}({})", node.word, tree(node.parts[0]));
    case Kind::typed:
      return fmt::format("as_{}({})", node.word, tree(node.parts[0]));
    case Kind::read:
      return fmt::format("read_{}{}({})", node.number ? "user_" : "", node.word,
                         tree(node.parts[0]));
  }
  return "?";
}

std::string tree_of(std::string_view expression) {
  const PairSpec pair = parse_pair(fmt::format("x=begin:a:b,end:a:c,key:{}", expression));
  return tree(pair.begin.key[0]);
}

TEST(PairSpec, ReadsTheExampleOfEachKindOfEvent) {
  const PairSpec pair = parse_pair(
      "io-1.x_Y=begin:block:block_rq_issue,end:block:block_rq_complete,key:rq,filter:rq->len>4096");
  EXPECT_EQ(pair.name, "io-1.x_Y");
  EXPECT_EQ(pair.begin.events[0].kind, EventSpec::Kind::tracepoint);
  EXPECT_EQ(pair.begin.events[0].scope, "block");
  EXPECT_EQ(pair.end.events[0].name, "block_rq_complete");
  EXPECT_EQ(tree(pair.end.key.at(0)), "rq");
  ASSERT_TRUE(pair.begin.filter);
  EXPECT_FALSE(pair.end.filter);
  for (const std::string event :
       {"uprobe:/bin/x:f", "uretprobe:x:ns::f", "usdt:/bin/x:p:n", "fentry:vfs_read",
        "fexit:vfs_read.part.0", "syscalls:sys_enter_read"})
    EXPECT_EQ(parse_pair("x=begin:" + event + ",end:a:b,key:tid").begin.events[0].text(), event);
}

TEST(PairSpec, PartsMayComeInAnyOrderWithSpaces) {
  const PairSpec pair = parse_pair(
      "x=key: tid ; arg0 , end-filter: ret == 0 , end: uretprobe:/a:f , begin: uprobe:/a:f ,"
      "end-key: tid;1,filter:1");
  EXPECT_EQ(pair.begin.key.size(), 2u);
  EXPECT_EQ(tree(pair.begin.key[1]), "arg0");
  EXPECT_EQ(tree(pair.end.key[1]), "1");
  EXPECT_EQ(tree(*pair.end.filter), "(ret == 0)");
  EXPECT_EQ(pair.end.events[0].name, "f");
}

TEST(PairSpec, AlternativesShareKeyAndFilter) {
  const PairSpec pair = parse_pair(
      "x=begin: a:b | uprobe:/c:d|usdt:/e:f:g ,end:fexit:h | a:i,key:tid,filter:arg0 | 1");
  ASSERT_EQ(pair.begin.events.size(), 3u);
  EXPECT_EQ(pair.begin.events[0].text(), "a:b");
  EXPECT_EQ(pair.begin.events[1].text(), "uprobe:/c:d");
  EXPECT_EQ(pair.begin.events[2].text(), "usdt:/e:f:g");
  ASSERT_EQ(pair.end.events.size(), 2u);
  EXPECT_EQ(pair.end.events[0].text(), "fexit:h");
  EXPECT_EQ(pair.end.events[1].text(), "a:i");
  EXPECT_EQ(tree(*pair.begin.filter), "(arg0 | 1)");
  EXPECT_EQ(pair.sides().size(), 2u);
}

TEST(PairSpec, SaysWhoseItIsAndWhatElseEndsIt) {
  const PairSpec plain = parse_pair("x=begin:a:b,end:a:c,key:tid,repeat:last,owner:begin");
  EXPECT_TRUE(plain.drops.empty());
  EXPECT_FALSE(plain.keeps_first || plain.is_of_ender || plain.ends_inside || plain.ends_last);
  EXPECT_TRUE(parse_pair("x=begin:a:b,end:a:c,key:tid,owner:both").ends_inside);
  const PairSpec pair = parse_pair(
      "x=begin:a:b,end:a:c,key:tid,repeat:first,owner:end,drop:a:d,drop-key:p->pid,drop-filter:q");
  EXPECT_TRUE(pair.keeps_first);
  EXPECT_TRUE(pair.is_of_ender);
  ASSERT_EQ(pair.drops.size(), 1u);
  EXPECT_EQ(pair.drops[0].events[0].text(), "a:d");
  EXPECT_EQ(tree(pair.drops[0].key[0]), "p.pid");
  EXPECT_EQ(tree(*pair.drops[0].filter), "q");
  EXPECT_EQ(pair.sides().size(), 3u);
}

TEST(PairSpec, EachDropHasItsOwnKeyAndFilter) {
  const PairSpec pair = parse_pair(
      "x=begin:a:b,end:a:c,key:tid,end-repeat:last,drop-key:p,drop:a:d,drop-filter:q,drop:a:e");
  EXPECT_TRUE(pair.ends_last);
  ASSERT_EQ(pair.drops.size(), 2u);
  EXPECT_EQ(tree(pair.drops[0].key[0]), "p");
  EXPECT_EQ(tree(*pair.drops[0].filter), "q");
  EXPECT_EQ(pair.drops[1].events[0].text(), "a:e");
  EXPECT_EQ(tree(pair.drops[1].key[0]), "tid");
  EXPECT_FALSE(pair.drops[1].filter);
  EXPECT_EQ(pair.sides().size(), 4u);
}

TEST(PairSpec, AFileOfTheTargetHasAGlob) {
  const PairSpec pair = parse_pair("x=begin:uprobe:@libc.so*:f,end:uretprobe:/a:f,key:tid");
  EXPECT_TRUE(pair.begin.events[0].is_of_mapped_file());
  EXPECT_FALSE(pair.end.events[0].is_of_mapped_file());
}

TEST(PairSpec, PathsInQuotesMayHaveAnything) {
  const PairSpec pair =
      parse_pair("x=begin:uprobe:\"/a,b:\\\"c\\\"\":f,end:uprobe:/a:\"f(int, char)\",key:1");
  EXPECT_EQ(pair.begin.events[0].scope, "/a,b:\"c\"");
  EXPECT_EQ(pair.begin.events[0].name, "f");
  EXPECT_EQ(pair.end.events[0].name, "f(int, char)");
}

TEST(PairSpec, OperatorsBindAsDocumented) {
  EXPECT_EQ(tree_of("a || b && c == d | e ^ f & g << h + i"),
            "(a || (b && (c == (d | (e ^ (f & (g << (h + i))))))))");
  EXPECT_EQ(tree_of("a & 4 == 4"), "((a & 4) == 4)") << "unlike in C";
  EXPECT_EQ(tree_of("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(tree_of("a >= b || a <= c && a != d"), "((a >= b) || ((a <= c) && (a != d)))");
  EXPECT_EQ(tree_of("!a->b.c[2] == -~1"), "((!a.b.c[2]) == (-(~1)))");
  EXPECT_EQ(tree_of("(a+b)&0xfF>>1"), "((a + b) & (255 >> 1))");
  EXPECT_EQ(tree_of("s32(ret) < 0 && read_u16(arg0 + 8) == 3"),
            "((s32(ret) < 0) && (read_u16((arg0 + 8)) == 3))");
  EXPECT_EQ(tree_of(R"(comm == "a\"b\\c,;d")"), R"((comm == "a"b\c,;d"))");
  EXPECT_EQ(tree_of("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(tree_of("read_user_u32(a)"), "read_user_u32(a)");
  EXPECT_EQ(tree_of("known(a + 1) == b"), tree_of("(known(a + 1)) == b"));
  EXPECT_EQ(tree_of("as_file(a + 1)->b"), "as_file((a + 1)).b");
  EXPECT_EQ(tree_of("a--1"), "(a - (-1))");
}

struct Bad {
  const char* text;
  const char* message;
};

class BadSpans : public ::testing::TestWithParam<Bad> {};

TEST_P(BadSpans, SayWhereAndWhatWouldBeRight) {
  EXPECT_THAT(failure_of(GetParam().text), HasSubstr(GetParam().message)) << GetParam().text;
}

// In front of a key that is wrong.
#define EVENTS "x=begin:a:b,end:a:c,key:"

INSTANTIATE_TEST_SUITE_P(
    Parts, BadSpans,
    ::testing::Values(
        Bad{"", "at its end: a span begins with its name and `=`"},
        Bad{"begin:a:b,end:a:c,key:tid", "a span begins with its name and `=`"},
        Bad{"a b=begin:a:b,end:a:c,key:tid", "a name has 1 to 31 letters, digits and - _ ."},
        Bad{"=begin:a:b", "a name has 1 to 31"},
        Bad{"a234567890123456789012345678901234=begin:a:b", "a name has 1 to 31"},
        Bad{"x=", "at its end: begin:, end:, key: or filter: is missing here"},
        Bad{"x=begin:a:b,", "begin:, end:, key: or filter: is missing here"},
        Bad{"x=begin:a:b,,key:1", "is missing here"},
        Bad{"x=begin:a:b,end:a:c", "key: is missing from x"},
        Bad{"x=begin:a:b,key:tid", "end: is missing from x"},
        Bad{"x=end:a:b,key:tid", "begin: is missing from x"},
        Bad{"x=begn:a:b,end:a:c,key:tid",
            "at column 3, `begn:a:b,end:a:c,key:tid`: `begn` is no "
            "part of a span; begin: is"},
        Bad{EVENTS "tid,fliter:1", "`fliter` is no part of a span; filter: is"},
        Bad{EVENTS "tid,foo", "`foo` is no part of a span"},
        Bad{EVENTS "tid,key:pid", "a second key:"},
        Bad{EVENTS "1;2;3", "a key is one expression, or two with a `;` between them"},
        Bad{EVENTS "1;2,end-key:3", "key: and end-key: are of different length"},
        Bad{EVENTS "1,drop:a:b,drop-key:1;2", "key: and drop-key: are of different length"},
        Bad{EVENTS "1,drop-filter:1", "drop-key: and drop-filter: need a drop:"},
        Bad{EVENTS "1,repeat:never", "write first or last here"},
        Bad{EVENTS "1,end-repeat:never", "write first or last here"},
        Bad{EVENTS "1,owner:end,end-repeat:last",
            "end-repeat:last and owner:end exclude each other"},
        Bad{EVENTS "1,owner:me", "write begin or end or both here"},
        Bad{"x=begin:a:b |,end:a:c,key:tid", "this is no event"}));

INSTANTIATE_TEST_SUITE_P(
    Events, BadSpans,
    ::testing::Values(Bad{"x=begin:sched_switch,end:a:c,key:tid",
                          "this is no event | an event is "
                          "system:tracepoint"},
                      Bad{"x=begin:,end:a:c,key:tid", "this is no event"},
                      Bad{"x=begin:a:,end:a:c,key:tid", "this is no event"},
                      Bad{"x=begin::b,end:a:c,key:tid", "this is no event"},
                      Bad{"x=begin:a:../../b,end:a:c,key:tid", "this is no event"},
                      Bad{"x=begin:../a:b,end:a:c,key:tid", "this is no event"},
                      Bad{"x=begin:a:b c,end:a:c,key:tid", "this is no event"},
                      Bad{"x=begin:uprobe:/bin/true,end:a:c,key:tid", "write uprobe:PATH:FUNCTION"},
                      Bad{"x=begin:uprobe::f,end:a:c,key:tid", "write uprobe:PATH:FUNCTION"},
                      Bad{"x=begin:uretprobe:/a:,end:a:c,key:tid", "write uretprobe:PATH:FUNCTION"},
                      Bad{"x=begin:usdt:/a:p,end:a:c,key:tid", "write usdt:PATH:PROVIDER:NAME"},
                      Bad{"x=begin:usdt:/a::n,end:a:c,key:tid", "write usdt:PATH:PROVIDER:NAME"},
                      Bad{"x=begin:uprobe:\"/a:f,end:a:c,key:tid",
                          "the `\"` that ends this text is missing"},
                      Bad{"x=begin:fentry:a b,end:a:c,key:tid", "write fentry:FUNCTION"}));

INSTANTIATE_TEST_SUITE_P(
    Expressions, BadSpans,
    ::testing::Values(
        Bad{EVENTS, "at its end: a value is missing here | a field, a number"},
        Bad{EVENTS "a +", "a value is missing here"},
        Bad{EVENTS "a = 1", "`=` is no comparison here | write `==`"},
        Bad{EVENTS "a => 1", "`=` is no comparison here"},
        Bad{EVENTS "a == 1 == b", "comparisons do not chain"},
        Bad{EVENTS "1 < a < 5", "comparisons do not chain | join two of them with &&"},
        Bad{EVENTS "a * 2", "there is no `*` here | operators are"},
        Bad{EVENTS "a / 2", "there is no `/` here"}, Bad{EVENTS "a ? b", "there is no `?` here"},
        Bad{EVENTS "(a", "a `)` is missing here"}, Bad{EVENTS "a)", "a `)` without its `(`"},
        Bad{EVENTS "a b", "at column 27, `b`: an operator, or `,` and the next part, is missing"},
        Bad{EVENTS "a->", "the name of a member is missing here"},
        Bad{EVENTS "a.1", "the name of a member is missing here"},
        Bad{EVENTS "a[b]", "an index is a plain number and `]`"},
        Bad{EVENTS "a[1", "an index is a plain number and `]`"},
        Bad{EVENTS "a[-1]", "an index is a plain number and `]`"},
        Bad{EVENTS "'a'", "text stands in double quotes here"},
        Bad{EVENTS "\"a", "the `\"` that ends this text is missing"},
        Bad{EVENTS "4k", "this is no number | write 4096 or 0x1000, without a unit"},
        Bad{EVENTS "0x", "this is no number"}, Bad{EVENTS "0xfg", "this is no number"},
        Bad{EVENTS "18446744073709551616", "a number has at most 64 bits"},
        Bad{EVENTS "strlen(a)", "there is no function strlen()"},
        Bad{EVENTS "read_u9(a)", "there is no function read_u9()"},
        Bad{EVENTS "a & & b", "a value is missing here"}, Bad{EVENTS "a\x01", "`\\x01`"},
        Bad{EVENTS "((((((((((((((((((((((((((((((((((1", "nests at most 32 deep"},
        Bad{EVENTS "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!1", "nests at most 32 deep"}));

TEST(PairSpec, IsBoundedInLength) {
  EXPECT_THAT(failure_of(std::string(3000, 'a')), HasSubstr("at most 2048 bytes, these are 3000"));
  std::string sum = EVENTS "1";
  while (sum.size() < SpanText::longest - 2) sum += "+1";
  EXPECT_EQ(parse_pair(sum).begin.key.size(), 1u);
}

}  // namespace
}  // namespace overdue
