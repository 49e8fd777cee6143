#pragma once

#include <string>

#include "flame/stack_tree.h"

namespace overdue {

/// Options of a drawing. All texts are hostile.
struct DrawingOptions {
  std::string title = "Flame graph";
  std::string subtitle = {};      ///< the total is appended
  std::string footer = {};        ///< lines of the receipt; long lines are wrapped
  std::string counted = "stack";  ///< noun for one unit of Node::count
  bool icicle = false;            ///< the root on top, stacks hanging from it
  bool differences = false;       ///< colours show the change of shares since add_before()
  double min_width = 0.1;         ///< least width of a frame, in pixels of a drawing 1200 wide
};

/// A stand-alone SVG document: readable without scripts; in a browser, with zoom, search and
/// tooltips. Loads nothing from elsewhere.
std::string flame_svg(const StackTree& tree, const DrawingOptions& options);

/// The same in a page of HTML (and of XHTML) that forbids itself all connections.
std::string flame_html(const StackTree& tree, const DrawingOptions& options);

}  // namespace overdue
