#include "flame/folded.h"

#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t line_max = 1 << 20;
constexpr std::size_t frames_max = 4096;
constexpr std::size_t problems_max = 8;

struct Mark {
  char letter;
  FrameKind kind;
};
constexpr Mark marks_of_kinds[] = {{'t', FrameKind::thread},  {'u', FrameKind::user},
                                   {'s', FrameKind::syscall}, {'k', FrameKind::kernel},
                                   {'x', FrameKind::unknown}, {'o', FrameKind::waiting}};

std::optional<FrameKind> mark_of(std::string_view name) {
  if (name.size() < 4 || !name.ends_with(']')) return std::nullopt;
  const std::string_view mark = name.substr(name.size() - 4);
  if (!mark.starts_with("_[")) return std::nullopt;
  for (const auto& [letter, kind] : marks_of_kinds)
    if (mark[2] == letter) return kind;
  return std::nullopt;
}

/// The kind of a frame without a mark.
FrameKind kind_of_name(std::string_view name, bool first) {
  if (first) return FrameKind::thread;
  const bool nameless =
      name.empty() || name == "[unknown]" || name == "(other)" ||
      (name.starts_with("0x") && name.find_first_not_of("0123456789abcdefABCDEF", 2) == name.npos);
  return nameless ? FrameKind::unknown : FrameKind::user;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// The byte that an escape at the front of `text` stands for; -1 if there is none.
int escaped_byte(std::string_view text) {
  if (text.size() < 4 || !text.starts_with("\\x")) return -1;
  const int high = hex_digit(text[2]), low = hex_digit(text[3]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void append_escaped(std::string& to, std::string_view name) {
  while (!name.empty()) {
    std::size_t length = printable_length(name);
    if (name[0] == ';' || name.starts_with("\\x")) length = 0;
    if (length > 0) {
      to += name.substr(0, length);
    } else {
      to += fmt::format("\\x{:02x}", static_cast<unsigned char>(name[0]));
      length = 1;
    }
    name.remove_prefix(length);
  }
}

std::string unescaped(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    const int byte = escaped_byte(text);
    name += byte < 0 ? text[0] : static_cast<char>(byte);
    text.remove_prefix(byte < 0 ? 1 : 4);
  }
  return name;
}

/// A whole number, or a rounded number with a fraction (some tools use milliseconds).
std::optional<std::uint64_t> parse_weight(std::string_view text) {
  std::uint64_t weight = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (rest.empty()) return weight;
  if (rest[0] != '.' || rest.find_first_not_of("0123456789", 1) != rest.npos) return std::nullopt;
  return rest.size() > 1 && rest[1] >= '5' && weight + 1 != 0 ? weight + 1 : weight;
}

}  // namespace

std::string folded_frame(const FoldedFrame& frame, bool first, bool marks) {
  std::string text;
  append_escaped(text, frame.name);
  if (mark_of(text)) text.replace(text.size() - 1, 1, "\\x5d");
  if (!marks || kind_of_name(frame.name, first) == frame.kind) return text;
  for (const auto& [letter, kind] : marks_of_kinds)
    if (kind == frame.kind) text += fmt::format("_[{}]", letter);
  return text;
}

FoldedFrame parse_folded_frame(std::string_view text, bool first) {
  const std::optional<FrameKind> mark = mark_of(text);
  if (mark) text.remove_suffix(4);
  std::string name = unescaped(text);
  const FrameKind kind = mark ? *mark : kind_of_name(name, first);
  return {std::move(name), kind};
}

void append_folded(std::string& text, const StackTree& tree, bool marks) {
  struct Open {
    StackTree::Id id;
    std::size_t prefix;  ///< length of the part of `line` that the outer frames take
    bool first;
  };
  std::string line;
  std::vector<Open> open;
  const auto push_children = [&](StackTree::Id id) {
    const std::vector<StackTree::Id> below = tree.children(id);
    for (auto child = below.rbegin(); child != below.rend(); ++child)
      open.push_back({*child, line.size(), id == StackTree::root});
  };
  push_children(StackTree::root);
  while (!open.empty()) {
    const Open at = open.back();
    open.pop_back();
    line.resize(at.prefix);
    if (!at.first) line += ';';
    line += folded_frame({std::string(tree.name(at.id)), tree.node(at.id).kind}, at.first, marks);
    if (tree.node(at.id).self > 0) text += fmt::format("{} {}\n", line, tree.node(at.id).self);
    push_children(at.id);
  }
}

void FoldedReader::feed(std::string_view bytes) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return keep(bytes);
    end_line(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
}

void FoldedReader::finish() {
  if (!line_.empty() || too_long_) end_line({});
}

void FoldedReader::keep(std::string_view part) {
  too_long_ |= line_.size() + part.size() > line_max;
  if (!too_long_) line_ += part;
}

void FoldedReader::end_line(std::string_view rest) {
  ++line_number_;
  if (line_.empty() && !too_long_ && rest.size() <= line_max) {
    parse(rest);
  } else {
    keep(rest);
    if (too_long_)
      refuse("longer than 1 MiB");
    else
      parse(line_);
  }
  line_.clear();
  too_long_ = false;
}

void FoldedReader::parse(std::string_view line) {
  const std::size_t last = line.find_last_not_of(" \t\r");
  if (last == line.npos) return;  // blank
  line = line.substr(0, last + 1);
  const std::size_t space = line.find_last_of(" \t");
  if (space == line.npos) return refuse("no weight at the end");
  const std::optional<std::uint64_t> weight = parse_weight(line.substr(space + 1));
  if (!weight) return refuse("what follows the last space is no weight, or too large");
  std::string_view frames = line.substr(0, space);
  if (frames.empty()) return refuse("no frames");
  stack_.frames.clear();
  for (bool more = true; more && stack_.frames.size() < frames_max;) {
    const std::size_t end = std::min(frames.find(';'), frames.size());
    stack_.frames.push_back(parse_folded_frame(frames.substr(0, end), stack_.frames.empty()));
    more = end < frames.size();
    if (more) frames.remove_prefix(end + 1);
  }
  stack_.weight = *weight;
  ++stacks_;
  on_stack_(stack_);
}

void FoldedReader::refuse(std::string_view what) {
  ++malformed_;
  if (problems_.size() < problems_max) problems_.push_back({line_number_, what});
}

}  // namespace overdue
