#include "sinks/html.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/html_page.h"
#include "base/text.h"
#include "core/session_members.h"
#include "sinks/html_layout.h"
#include "sinks/html_members.h"
#include "sinks/text_format.h"

namespace overdue {

// Made from html.css and html.js by cmake/embed.cmake.
extern const std::string_view html_css, html_css_sha256, html_js, html_js_sha256;

void HtmlSink::write_begin(const SessionInfo& info, bool with_duration) {
  if (has_begun_) return;
  has_begun_ = true;
  const std::string title = fmt::format("overdue {}: {}", info.command, target_text(info.target));
  output_.append(html_page_begin({.title = title,
                                  .style = html_css,
                                  .styles_allowed = csp_hash(html_css_sha256),
                                  .scripts_allowed = csp_hash(html_js_sha256)}));
  // The first line of the header is the heading of the page.
  const std::string header = session_header(info, with_duration);
  const std::size_t end = std::min(header.find('\n'), header.size());
  const std::size_t last = std::min(header.find('\n', end + 1), header.size());
  output_.append(fmt::format("<main>\n<h1>{}</h1>\n<p class=\"help\">{}</p>\n",
                             html_text(std::string_view(header).substr(0, end)),
                             html_text(std::string_view(header).substr(end + 1, last - end - 1))));
}

void HtmlSink::record(const Record& record) {
  throw Error("cannot write {}s as a page: they are a stream", record.schema->name)
      .hint("use --format text, csv or ndjson")
      .exit_status(2);
}

void HtmlSink::section(const SectionPtr& section) {
  if (section->place() == Section::Place::report) {
    report_.push_back(section);
    return;
  }
  if (section->place() != Section::Place::line) return;
  write_begin(info_, false);
  has_lines_ = true;
  static const Receipt none;
  output_.append(html_block(section->text({.info = info_, .receipt = none, .whole_stacks = true})));
}

void HtmlSink::end(const SessionInfo& info, const Receipt& receipt) {
  write_begin(info, true);
  const ReportContext context{.info = info, .receipt = receipt, .has_lines = has_lines_};
  for (const SectionPtr& section : report_) {
    HtmlMembers member(info);
    section->members(member, context);
    output_.append(html_layout(member.root(), info.start));
  }
  output_.append("<footer>\n<h2>Receipt</h2>\n<ul>\n");
  for (const std::string& line : receipt_lines(info, receipt))
    output_.append(fmt::format("<li>{}</li>\n", html_text(line)));
  output_.append(
      fmt::format("</ul>\n</footer>\n</main>\n<script>{}</script>\n{}", html_js, html_page_end()));
  output_.flush();
}

}  // namespace overdue
