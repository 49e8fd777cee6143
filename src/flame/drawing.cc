#include "flame/drawing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "base/html_page.h"
#include "base/share.h"
#include "base/text.h"
#include "base/xml_text.h"
#include "flame/layout.h"
#include "flame/palette.h"

namespace overdue {

// Made from flame.css and flame.js by cmake/embed.cmake.
extern const std::string_view flame_css, flame_js;

namespace {

constexpr double width = 1200, margin = 12, row = 19, chart_top = 88;
constexpr double inner_width = width - 2 * margin;
constexpr double letter_width = 7.25;  // of the fixed-width font at 12 pixels
constexpr std::size_t title_columns = 110, footer_columns = 175;

/// Builds one document.
class Drawing {
 public:
  Drawing(const StackTree& tree, const DrawingOptions& options)
      : tree_(tree),
        options_(options),
        layout_(lay_out(tree, options.min_width / inner_width *
                                  static_cast<double>(std::max<std::uint64_t>(tree.total(), 1)))),
        // A script's numbers are exact up to 2^53.
        shift_(std::max(0, static_cast<int>(std::bit_width(tree.total())) - 53)) {
    for (const Box& box : layout_.boxes)
      if (box.node != StackTree::root) most_ = std::max(most_, std::abs(difference(box.node)));
    write_footer_lines();
  }

  std::string svg() const {
    std::string text;
    begin(text);
    write_heading(text);
    write_legend(text);
    text += "<g class=\"frames\">\n";
    for (const Box& box : layout_.boxes) write_box(text, box);
    text += "</g>\n";
    if (tree_.total() == 0)
      text += fmt::format("<text class=\"small\" x=\"{}\" y=\"{}\">No stacks.</text>\n", margin + 6,
                          chart_top + row + 16);
    double y = footer_top();
    for (const std::string& line : footer_) {
      text += fmt::format("<text class=\"small\" x=\"{}\" y=\"{}\">{}</text>\n", margin, y,
                          xml_escaped(line));
      y += 16;
    }
    text += fmt::format("<script><![CDATA[\n{}]]></script>\n</svg>\n", flame_js);
    return text;
  }

 private:
  double footer_top() const { return chart_top + (layout_.depth + 1) * row + 22; }
  double height() const { return footer_top() + 16 * static_cast<double>(footer_.size()); }

  double x_of(std::uint64_t weight) const {
    if (tree_.total() == 0) return 0;
    return static_cast<double>(weight) / static_cast<double>(tree_.total()) * inner_width;
  }

  /// The change of a node's share since the earlier measurement: -1 to 1.
  double difference(StackTree::Id id) const {
    if (!options_.differences) return 0;
    return share_of(tree_.node(id).weight, tree_.total()) -
           share_of(tree_.node(id).before, tree_.node(StackTree::root).before);
  }
  int difference_step(StackTree::Id id) const {
    const double moved = difference(id);
    if (id == StackTree::root || std::abs(moved) < std::max(most_ / 64, 1e-9)) return 0;
    const int step = std::min(
        difference_steps, static_cast<int>(std::ceil(std::abs(moved) / most_ * difference_steps)));
    return moved < 0 ? -step : step;
  }

  std::string class_of(StackTree::Id id) const {
    if (options_.differences) return difference_class(difference_step(id));
    if (id == StackTree::root) return "x0";
    return kind_class(tree_.node(id).kind, tree_.name(id));
  }

  std::string total_text() const {
    return fmt::format("{} in {}", format_weight(tree_.total(), tree_.unit()),
                       format_counted(tree_.node(StackTree::root).count, options_.counted));
  }

  void begin(std::string& text) const {
    const std::string title = xml_escaped(visible(options_.title));
    text += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" data-margin=\"{2}\" data-letter=\"{3}\">\n"
        "<title>{4}</title>\n<style><![CDATA[\n{5}{6}]]></style>\n"
        "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
        width, height(), margin, letter_width, title, flame_css, palette_css(options_.differences));
  }

  void write_heading(std::string& text) const {
    const std::string subtitle =
        options_.subtitle.empty() ? total_text() : options_.subtitle + " · " + total_text();
    text += fmt::format(
        "<text class=\"title\" x=\"{0}\" y=\"30\">{1}</text>\n"
        "<text class=\"small\" x=\"{0}\" y=\"50\">{2}</text>\n",
        margin, xml_escaped(fitted(visible(options_.title), title_columns)),
        xml_escaped(fitted(visible(subtitle), footer_columns)));
  }

  void write_legend_item(std::string& text, double& x, std::string_view name,
                         std::string_view frame_class) const {
    text += fmt::format(
        "<g class=\"{}\"><rect x=\"{}\" y=\"63\" width=\"14\" height=\"12\" rx=\"2\"/>"
        "<text x=\"{}\" y=\"73\">{}</text></g>\n",
        frame_class, x, x + 20, name);
    x += 38 + 7 * static_cast<double>(name.size());
  }

  /// The kinds that occur, or the meaning of the colours of differences.
  void write_legend(std::string& text) const {
    text += "<g class=\"legend\">\n";
    double x = margin;
    if (options_.differences) {
      write_legend_item(text, x, "smaller share than before", difference_class(-3));
      write_legend_item(text, x, "the same", difference_class(0));
      write_legend_item(text, x, "larger", difference_class(3));
    } else {
      std::array<bool, frame_kinds> seen{};
      for (const Box& box : layout_.boxes)
        if (box.node != StackTree::root)
          seen[static_cast<std::size_t>(tree_.node(box.node).kind)] = true;
      for (std::size_t kind = 0; kind < frame_kinds; ++kind)
        if (seen[kind])
          write_legend_item(text, x, frame_kind_name(static_cast<FrameKind>(kind)),
                            kind_class(static_cast<FrameKind>(kind), ""));
    }
    text += "</g>\n";
  }

  /// The tooltip's text below the name: one line, and a second one for differences.
  std::string note(const Box& box) const {
    const StackTree::Node& node = tree_.node(box.node);
    std::string result =
        fmt::format("{} · {} of all · {}", format_weight(node.weight, tree_.unit()),
                    format_share(node.weight, tree_.total()),
                    xml_escaped(visible(format_counted(node.count, options_.counted))));
    if (box.node != StackTree::root)
      result = fmt::format("{} · {}", node.merged ? "merged" : frame_kind_name(node.kind), result);
    if (options_.differences) {
      const StackTree::Node& all = tree_.node(StackTree::root);
      result += fmt::format("\nbefore: {} · {} of all; {:+.2f} points",
                            format_weight(node.before, tree_.unit()),
                            format_share(node.before, all.before), 100 * difference(box.node));
    }
    return result;
  }

  void write_box(std::string& text, const Box& box) const {
    const StackTree::Node& node = tree_.node(box.node);
    const double x = margin + x_of(box.start), y = chart_top + row * row_of(box.depth);
    const double pixels = std::max(x_of(node.weight), tree_.total() == 0 ? inner_width : 0);
    const std::string name = visible(tree_.name(box.node));
    text += fmt::format("<g class=\"{}\" data-d=\"{}\" data-s=\"{}\" data-w=\"{}\"",
                        class_of(box.node), box.depth, box.start >> shift_, node.weight >> shift_);
    if (box.too_narrow > 0) text += fmt::format(" data-h=\"{}\"", box.too_narrow);
    text += fmt::format(
        "><title>{}\n{}</title><rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" "
        "rx=\"2\"/>",
        xml_escaped(name), note(box), x, y, std::max(pixels - (pixels > 3 ? 1 : 0), 0.05), row - 1);
    const double room = std::max((pixels - 8) / letter_width, 0.0);
    const std::string label = fitted(name, static_cast<std::size_t>(room));
    if (room >= 1 && !label.empty())
      text +=
          fmt::format("<text x=\"{:.2f}\" y=\"{}\">{}</text>", x + 4, y + 13.5, xml_escaped(label));
    text += "</g>\n";
  }

  std::uint32_t row_of(std::uint32_t depth) const {
    return options_.icicle ? depth : layout_.depth - depth;
  }

  void write_footer_lines() {
    add_footer(options_.footer);
    if (layout_.too_narrow > 0)
      add_footer(fmt::format("{} narrower than {:.3g} px, with {} of the weight, not drawn",
                             format_counted(layout_.too_narrow, "frame"), options_.min_width,
                             format_share(layout_.too_narrow_weight, tree_.total())));
    if (layout_.gone > 0)
      add_footer(fmt::format("{} of the earlier measurement only, not drawn",
                             format_counted(layout_.gone, "frame")));
    for (const std::string& note : limit_notes(tree_)) add_footer(note);
  }

  /// Adds the lines of `text`; a line that is too long is split at spaces.
  void add_footer(std::string_view text) {
    for (const std::string_view given : split(text, '\n')) {
      std::string line;
      for (const std::string_view word : split(given, ' ')) {
        const std::string shown = fitted(visible(word), footer_columns);
        if (!line.empty() && columns_of(line) + 1 + columns_of(shown) > footer_columns) {
          footer_.push_back(std::move(line));
          line.clear();
        }
        line += (line.empty() ? "" : " ") + shown;
      }
      if (!line.empty()) footer_.push_back(std::move(line));
    }
  }

  const StackTree& tree_;
  const DrawingOptions& options_;
  const Layout layout_;
  const int shift_;
  double most_ = 0;  ///< the largest difference
  std::vector<std::string> footer_;
};

}  // namespace

std::string flame_svg(const StackTree& tree, const DrawingOptions& options) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + Drawing(tree, options).svg();
}

std::string flame_html(const StackTree& tree, const DrawingOptions& options) {
  return html_page_begin(
             {.title = options.title, .style = "html,body{margin:0;padding:0}svg{display:block}"}) +
         Drawing(tree, options).svg() + std::string(html_page_end());
}

}  // namespace overdue
