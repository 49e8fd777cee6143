#include "sinks/text.h"

#include <algorithm>

#include <fmt/format.h>

#include "sinks/text_format.h"

namespace overdue {

TextSink::TextSink(Output& output, const SinkOptions& options)
    : output_(output), options_(options), records_(output) {
  if (options.live) live_.emplace(output);
}

ReportContext TextSink::context(const SessionInfo& info, const Receipt& receipt) const {
  return {.info = info,
          .receipt = receipt,
          .has_lines = has_lines_,
          .color = options_.color,
          .whole_stacks = options_.whole_stacks,
          .width = options_.width,
          .columns = live_ ? screen_size(output_.fd()).columns : 0};
}

void TextSink::write(std::string_view text) {
  if (text.empty()) return;
  output_.append(text);
  is_separated_ = text == "\n" || text.ends_with("\n\n");
}

void TextSink::separate() {
  if (!is_separated_) write("\n");
}

void TextSink::write_header(const SessionInfo& info, bool with_duration) {
  if (has_header_) return;
  has_header_ = true;
  write(session_header(info, with_duration));
}

void TextSink::write_paragraph(const Section& section, const ReportContext& context) {
  const std::string text = section.text(context);
  if (text.empty()) return;
  if (section.is_paragraph() || section.type() != last_type_) separate();
  last_type_ = section.type();
  write(text);
}

void TextSink::record(const Record& record) {
  write_header(info_, false);
  records_.write(record, info_);
  has_lines_ = true;
  is_separated_ = false;
}

void TextSink::section(const SectionPtr& section) {
  static const Receipt none;
  switch (section->place()) {
    case Section::Place::report:
      report_.push_back(section);
      return;
    case Section::Place::text:
      has_header_ = true;
      write(section->text(context(info_, none)));
      break;
    case Section::Place::progress:
      if (live_) {
        live_->draw(section->text(context(info_, none)));
        return;
      }
      [[fallthrough]];
    case Section::Place::line:
      write_header(info_, false);
      write_paragraph(*section, context(info_, none));
      has_lines_ = true;
      break;
  }
  // A header shows at once. Lines wait for the listener's tick, but the next interval comes a while
  // later.
  if (section->place() == Section::Place::text || section->type() == "interval") output_.flush();
}

void TextSink::end(const SessionInfo& info, const Receipt& receipt) {
  const bool is_bare =
      std::ranges::any_of(report_, [](const SectionPtr& section) { return section->is_bare(); });
  if (!is_bare) write_header(info, true);
  if (live_) live_->draw({}, true);
  const ReportContext at_end = context(info, receipt);
  for (const SectionPtr& section : report_) write_paragraph(*section, at_end);
  if (!is_bare) separate();
  for (const std::string& line : receipt_lines(info, receipt))
    output_.append(fmt::format("{}{}\n", is_bare ? "# " : "", line));
  output_.flush();
}

}  // namespace overdue
