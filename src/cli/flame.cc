// `overdue flame`: draws, selects, compares and converts stacks.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "base/error.h"
#include "cli/command.h"
#include "flame/formats.h"
#include "live/recorded_stalls.h"
#include "report/flame/changes.h"
#include "report/flame/input.h"
#include "sinks/output.h"
#include "target/output_file.h"

namespace overdue {
namespace {

class FlameCommand final : public Command {
 public:
  std::string_view name() const override { return "flame"; }
  Rights rights() const override { return Rights::caller; }

  void add_options(CLI::App& app) override {
    StackFilterOptions& filter = input_.filter;
    app.add_option("file", files_)->required();
    app.add_option("-f,--format", format_)
        ->check(CLI::IsMember({"svg", "html", "folded", "speedscope", "pprof", "text", "json"}));
    app.add_option("-o,--output", output_);
    CLI::Option* const grep = app.add_option("--grep", filter.grep);
    app.add_flag("--invert", filter.invert)->needs(grep);
    app.add_option("--thread", filter.thread);
    CLI::Option* const merge = app.add_flag("--merge", filter.merge);
    app.add_flag("--by-thread")->excludes(merge);
    app.add_flag("--group-digits", filter.group_digits)->excludes(merge);
    app.add_option("--from", from_);
    app.add_option("--to", to_);
    app.add_option("--title", title_);
    app.add_option("--unit", unit_)->check(CLI::IsMember({"samples", "us", "bytes"}));
    app.add_option("--min-width", drawing_.min_width);
    app.add_flag("--icicle", drawing_.icicle);
    app.add_option("--diff", before_);
    app.add_option("--top", top_);
    app.add_flag("-q,--quiet", input_.quiet);
  }

  int run(const Invocation&) override {
    if (!std::isfinite(drawing_.min_width) || drawing_.min_width < 0)
      throw Error("--min-width {}: not a width", drawing_.min_width)
          .hint("pixels of a drawing 1200 wide; 0 draws all frames")
          .exit_status(2);
    const bool to_file = !output_.empty() && output_ != "-";
    if (format_.empty()) format_ = flame_format_of(output_);
    check_format(to_file);
    if (!unit_.empty())
      input_.unit = unit_ == "us"      ? WeightUnit::microseconds
                    : unit_ == "bytes" ? WeightUnit::bytes
                                       : WeightUnit::samples;
    if (from_) input_.from = parse_duration(*from_, "--from");
    if (to_) input_.to = parse_duration(*to_, "--to");
    input_.take_recorded = take_recorded;
    const FlameInput input(input_, files_, before_);
    input.describe(drawing_);
    if (title_) drawing_.title = *title_;
    Output output = to_file ? Output(create_output_file(output_)) : Output(STDOUT_FILENO);
    output.append(is_table() ? table(input) : flame_text(input.tree(), drawing_, format_));
    output.flush();
    if (format_ == "folded" || format_ == "speedscope") input.print_left_out();
    return 0;
  }

 private:
  bool is_table() const { return format_ == "text" || format_ == "json"; }

  void check_format(bool to_file) const {
    if (is_table() && before_.empty())
      throw Error("-f {} shows a comparison only", format_).hint("--diff FILE").exit_status(2);
    if (!is_table() && !before_.empty() && !shows_differences(format_))
      throw Error("-f {} cannot show a comparison", format_)
          .hint("-f svg, html, text or json")
          .exit_status(2);
    const bool is_text = is_table() || format_ == "folded" || format_ == "speedscope";
    if (!to_file && !is_text && isatty(STDOUT_FILENO) == 1)
      throw Error("standard output is a terminal, which cannot show {}", format_)
          .hint("-o FILE.svg writes it to a file")
          .exit_status(2);
  }

  std::string table(const FlameInput& input) const {
    FlameChanges changes = flame_changes(input.tree(), top_);
    changes.files = input.names();
    changes.compared_with = input.before_name();
    changes.receipt.insert(changes.receipt.begin(), input.receipt().begin(), input.receipt().end());
    return format_ == "json" ? to_json(changes) : to_text(changes);
  }

  std::vector<std::string> files_;
  std::string format_, output_, before_, unit_;
  std::optional<std::string> from_, to_, title_;
  std::size_t top_ = 20;
  FlameInputOptions input_;
  DrawingOptions drawing_;
};

}  // namespace

std::unique_ptr<Command> make_flame_command() {
  return std::make_unique<FlameCommand>();
}

}  // namespace overdue
