#include "probes/pairs/spec.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>

#include <fmt/ranges.h>

#include "base/text.h"
#include "bpf/span.h"

namespace overdue {
namespace {

constexpr std::array<std::string_view, 12> part_names{
    "begin", "end",      "key",         "filter", "end-key",    "end-filter",
    "drop",  "drop-key", "drop-filter", "repeat", "end-repeat", "owner"};
constexpr std::array<std::pair<std::string_view, EventSpec::Kind>, 5> event_kinds{
    {{"uprobe", EventSpec::Kind::uprobe},
     {"uretprobe", EventSpec::Kind::uretprobe},
     {"usdt", EventSpec::Kind::usdt},
     {"fentry", EventSpec::Kind::fentry},
     {"fexit", EventSpec::Kind::fexit}}};

constexpr const char* event_hint =
    "an event is system:tracepoint, uprobe:PATH:FUNCTION, uretprobe:PATH:FUNCTION, "
    "usdt:PATH:PROVIDER:NAME or fentry:FUNCTION";

bool is_word(std::string_view text, std::string_view also) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           also.find(c) != std::string_view::npos;
  });
}

/// Reads the parts of a span one by one.
class PairReader {
 public:
  explicit PairReader(std::string_view text) : text_(text) { pair_.text = text; }

  PairSpec read() {
    read_name();
    do read_part();
    while (text_.take(","));
    if (!text_.ended()) throw after_part();
    return finish();
  }

 private:
  void read_name() {
    const std::string_view rest = text_.rest();
    const std::size_t length = rest.find('=');
    if (length == std::string_view::npos || rest.substr(0, length).find(':') != rest.npos)
      throw text_.error(0, "a span begins with its name and `=`",
                        "for example fork=begin:sched:sched_process_fork,end:…,key:…");
    const std::string_view name = rest.substr(0, length);
    if (!is_word(name, "-.") || name.size() >= SPAN_TEXT_SIZE)
      throw text_.error(
          0, fmt::format("a name has 1 to {} letters, digits and - _ .", SPAN_TEXT_SIZE - 1));
    pair_.name = name;
    text_.skip(length + 1);
  }

  /// `key`, `end-filter`, …, and the colon behind it.
  std::string_view take_part_name() {
    text_.skip_space();
    const std::size_t at = text_.at();
    const std::string_view rest = text_.rest();
    const std::string_view word = rest.substr(0, rest.find_first_of(":,= "));
    if (word.empty()) throw text_.error(at, "begin:, end:, key: or filter: is missing here");
    const auto* found = std::find(part_names.begin(), part_names.end(), word);
    if (found == part_names.end() || !rest.substr(word.size()).starts_with(':')) {
      const std::string_view near = nearest(word, part_names);
      throw text_.error(
          at,
          fmt::format("`{}` is no part of a span{}", printable(word),
                      near.empty() ? "" : fmt::format("; {}: is", near)),
          "parts are begin:, end:, key:, filter:, end-key:, end-filter:, drop:, drop-key:, "
          "drop-filter:, repeat:, end-repeat: and owner:");
    }
    const auto index = static_cast<std::size_t>(found - part_names.begin());
    if (word == "drop" && seen_[index]) begin_another_drop();
    if (seen_[index]) throw text_.error(at, fmt::format("a second {}:", word));
    seen_[index] = true;
    text_.skip(word.size() + 1);
    return *found;
  }

  void read_part() {
    const std::string_view part = take_part_name();
    text_.skip_space();
    if (part == "begin") pair_.begin.events = read_events();
    if (part == "end") pair_.end.events = read_events();
    if (part == "drop") drop().events = read_events();
    if (part == "key") pair_.begin.key = read_key();
    if (part == "end-key") pair_.end.key = read_key();
    if (part == "drop-key") drop().key = read_key();
    if (part == "filter") pair_.begin.filter = parse_expression(text_);
    if (part == "end-filter") pair_.end.filter = parse_expression(text_);
    if (part == "drop-filter") drop().filter = parse_expression(text_);
    if (part == "repeat") pair_.keeps_first = read_choice({"first", "last"}) == "first";
    if (part == "end-repeat") pair_.ends_last = read_choice({"first", "last"}) == "last";
    if (part == "owner") {
      const std::string_view owner = read_choice({"begin", "end", "both"});
      pair_.is_of_ender = owner == "end";
      pair_.ends_inside = owner == "both";
    }
    text_.skip_space();
  }

  /// The drop that is being read.
  SideSpec& drop() {
    if (pair_.drops.empty()) pair_.drops.emplace_back();
    return pair_.drops.back();
  }

  void begin_another_drop() {
    pair_.drops.emplace_back();
    for (std::size_t i = 0; i < part_names.size(); ++i)
      if (part_names[i].starts_with("drop")) seen_[i] = false;
  }

  std::string_view read_choice(std::initializer_list<std::string_view> words) {
    const std::size_t at = text_.at();
    const std::string word = take_until(",");
    const auto* found = std::find(words.begin(), words.end(), word);
    if (found == words.end())
      throw text_.error(at, fmt::format("write {} here", fmt::join(words, " or ")));
    return *found;
  }

  /// Alternatives, with a `|` between them.
  std::vector<EventSpec> read_events() {
    std::vector<EventSpec> events;
    do {
      text_.skip_space();
      events.push_back(read_event());
      text_.skip_space();
    } while (text_.take("|"));
    return events;
  }

  std::vector<Expression> read_key() {
    std::vector<Expression> key{parse_expression(text_)};
    text_.skip_space();
    const std::size_t at = text_.at();
    if (text_.take(";")) key.push_back(parse_expression(text_));
    text_.skip_space();
    if (text_.rest().starts_with(';'))
      throw text_.error(at, "a key is one expression, or two with a `;` between them");
    return key;
  }

  EventSpec read_event() {
    EventSpec event{.at = text_.at()};
    const std::string word = take_until(":,");
    for (const auto& [name, kind] : event_kinds)
      if (word == name) event.kind = kind;
    if (!text_.take(":")) throw text_.error(event.at, "this is no event", event_hint);
    switch (event.kind) {
      case EventSpec::Kind::tracepoint:
        event.scope = word;
        event.name = take_until(",|");
        if (!is_word(event.scope, "-") || !is_word(event.name, ""))
          throw text_.error(event.at, "this is no event", event_hint);
        return event;
      case EventSpec::Kind::fentry:
      case EventSpec::Kind::fexit:
        event.name = take_until(",|");
        if (!is_word(event.name, "."))
          throw text_.error(event.at, fmt::format("write {}:FUNCTION", word));
        return event;
      default:
        read_user_event(event, word);
        return event;
    }
  }

  void read_user_event(EventSpec& event, std::string_view word) {
    const bool usdt = event.kind == EventSpec::Kind::usdt;
    const auto right = [&] {
      return text_.error(event.at,
                         fmt::format("write {}:PATH:{}", word, usdt ? "PROVIDER:NAME" : "FUNCTION"),
                         "a path with a `:` or a `,` in it stands in double quotes");
    };
    event.scope = text_.rest().starts_with('"') ? text_.take_quoted() : take_until(":,");
    if (event.scope.empty() || event.scope.find('\0') != std::string::npos || !text_.take(":"))
      throw right();
    if (usdt) {
      event.vendor = take_until(":,");
      if (event.vendor.empty() || !text_.take(":")) throw right();
    }
    event.name = text_.rest().starts_with('"') ? text_.take_quoted() : take_until(",|");
    if (event.name.empty() || event.name.find('\0') != std::string::npos) throw right();
  }

  std::string take_until(std::string_view stops) {
    const std::string_view rest = text_.rest();
    const std::string_view word = rest.substr(0, rest.find_first_of(stops));
    text_.skip(word.size());
    return std::string(word.substr(0, word.find_last_not_of(" \t\n") + 1));
  }

  Error after_part() const {
    const std::string_view rest = text_.rest();
    if (rest.starts_with(')')) return text_.error(text_.at(), "a `)` without its `(`");
    return text_.error(text_.at(), "an operator, or `,` and the next part, is missing here",
                       "operators are == != < <= > >= && || ! + - & | ^ ~ << >>");
  }

  PairSpec finish() {
    for (const std::size_t needed : {0u, 1u, 2u})
      if (!seen_[needed])
        throw text_.error(SpanText::longest,
                          fmt::format("{}: is missing from {}", part_names[needed], pair_.name),
                          "a span is NAME=begin:EVENT,end:EVENT,key:EXPRESSION");
    complete_key(pair_.end, "end-key");
    for (SideSpec& drop : pair_.drops) {
      if (drop.events.empty())
        throw text_.error(SpanText::longest, "drop-key: and drop-filter: need a drop:");
      complete_key(drop, "drop-key");
    }
    if (pair_.ends_last && pair_.is_of_ender)
      throw text_.error(SpanText::longest, "end-repeat:last and owner:end exclude each other");
    return std::move(pair_);
  }

  void complete_key(SideSpec& side, std::string_view part) const {
    if (side.key.empty()) side.key = pair_.begin.key;
    if (side.key.size() != pair_.begin.key.size())
      throw text_.error(SpanText::longest,
                        fmt::format("key: and {}: are of different length", part));
  }

  SpanText text_;
  PairSpec pair_;
  std::array<bool, part_names.size()> seen_{};
};

}  // namespace

std::string EventSpec::text() const {
  if (kind == Kind::tracepoint) return fmt::format("{}:{}", scope, name);
  for (const auto& [word, of] : event_kinds) {
    if (of != kind) continue;
    if (!is_user()) return fmt::format("{}:{}", word, name);
    if (kind == Kind::usdt) return fmt::format("{}:{}:{}:{}", word, scope, vendor, name);
    return fmt::format("{}:{}:{}", word, scope, name);
  }
  return name;
}

std::vector<const SideSpec*> PairSpec::sides() const {
  std::vector<const SideSpec*> all{&begin, &end};
  for (const SideSpec& drop : drops) all.push_back(&drop);
  return all;
}

PairSpec parse_pair(std::string_view text) {
  return PairReader(text).read();
}

}  // namespace overdue
