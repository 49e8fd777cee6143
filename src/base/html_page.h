#pragma once

#include <string>
#include <string_view>

namespace overdue {

/// The head of a page that stands alone. `title` is hostile, the rest is ours.
struct HtmlHead {
  std::string_view title;
  std::string_view style;  ///< text of the page's style sheet
  /// Sources that the page's policy allows its styles and scripts, as in CSP: 'unsafe-inline', or
  /// csp_hash().
  std::string_view styles_allowed = "'unsafe-inline'", scripts_allowed = "'unsafe-inline'";
};

/// All of a page up to its body, which follows. The page, HTML and XHTML, forbids itself all
/// connections, forms and frames, and follows the reader's light or dark mode.
std::string html_page_begin(const HtmlHead& head);

/// The end of the page.
std::string_view html_page_end();

/// The source that allows only the text with this SHA-256 (64 hexadecimal digits): 'sha256-…'.
std::string csp_hash(std::string_view sha256);

}  // namespace overdue
