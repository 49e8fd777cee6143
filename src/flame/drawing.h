#pragma once

#include <string>

#include "flame/stack_tree.h"

namespace overdue {

/// How a tree is drawn. All texts are taken as hostile.
struct DrawingOptions {
  std::string title = "Flame graph";
  std::string subtitle = {};      ///< the total is added to it
  std::string footer = {};        ///< the receipt, a line each; long ones are wrapped
  std::string counted = "stack";  ///< what Node::count counts, one of them
  bool icicle = false;            ///< the root on top, stacks hanging from it
  bool differences = false;       ///< colours say how shares changed since add_before()
  double min_width = 0.1;         ///< of a frame, in pixels of a drawing 1200 wide
};

/// A stand-alone SVG document: readable where no script runs; in a browser with zoom, search and
/// tooltips. Nothing in it comes from elsewhere.
std::string flame_svg(const StackTree& tree, const DrawingOptions& options);

/// The same in a page of HTML (and of XHTML) that allows itself no connections.
std::string flame_html(const StackTree& tree, const DrawingOptions& options);

}  // namespace overdue
