// `overdue flame`: draws folded stacks.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "flame/drawing.h"
#include "flame/folded.h"
#include "report/stalls/flame.h"
#include "sinks/output.h"
#include "source/say.h"
#include "target/output_file.h"

namespace overdue {
namespace {

/// Bytes without a stack after which reading stops: a device or a pipe need not end.
constexpr std::size_t max_without_stacks = 64u << 20;

/// Gives all of `path` to `reader`; `-` is standard input.
void read_folded(const std::string& path, FoldedReader& reader) {
  const Fd file(path == "-" ? dup(STDIN_FILENO)
                            : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) throw Error("cannot open the stacks {}: {}", printable(path), errno_text(errno));
  std::array<char, 64 << 10> buffer;
  for (std::size_t bytes = 0;;) {
    const ssize_t length = ::read(file.get(), buffer.data(), buffer.size());
    if (length == 0) return reader.finish();
    if (length < 0 && errno == EINTR) continue;
    check_errno(static_cast<int>(std::min<ssize_t>(length, 0)), "cannot read the stacks {}",
                printable(path));
    reader.feed({buffer.data(), static_cast<std::size_t>(length)});
    bytes += static_cast<std::size_t>(length);
    if (bytes > max_without_stacks && reader.stacks() == 0)
      throw Error("no stacks in the first {} MiB of {}", max_without_stacks >> 20, printable(path))
          .hint("a line is 'thread;outer frame;inner frame WEIGHT': see overdue flame --help");
  }
}

std::string shown_name(const std::string& path) {
  return path == "-" ? "standard input" : path.substr(path.rfind('/') + 1);
}

class FlameCommand final : public Command {
 public:
  std::string_view name() const override { return "flame"; }
  Rights rights() const override { return Rights::caller; }

  void add_options(CLI::App& app) override {
    app.add_option("file", files_)->required();
    app.add_option("-f,--format", format_)->check(CLI::IsMember({"svg", "html", "folded"}));
    app.add_option("-o,--output", output_);
    app.add_option("--title", drawing_.title);
    app.add_option("--unit", unit_)->check(CLI::IsMember({"samples", "us", "bytes"}));
    app.add_option("--min-width", drawing_.min_width);
    app.add_flag("--icicle", drawing_.icicle);
    app.add_option("--diff", before_);
    app.add_flag("-q,--quiet", quiet_);
  }

  int run(const Invocation&) override {
    if (!std::isfinite(drawing_.min_width) || drawing_.min_width < 0)
      throw Error("--min-width {}: not a width", drawing_.min_width)
          .hint("pixels of a drawing 1200 wide; 0 draws all frames")
          .exit_status(2);
    const std::string format = wanted_format();
    const bool to_file = !output_.empty() && output_ != "-";
    if (!to_file && format != "folded" && isatty(STDOUT_FILENO) == 1)
      throw Error("standard output is a terminal, which cannot show {}", format)
          .hint("-o FILE.svg writes it to a file")
          .exit_status(2);
    StackTree tree(unit());
    add_files(tree);
    Output output = to_file ? Output(create_output_file(output_)) : Output(STDOUT_FILENO);
    output.append(drawn(tree, format));
    output.flush();
    return 0;
  }

 private:
  /// The format of -f, else the one that the name of the output ends in.
  std::string wanted_format() const {
    return format_.empty() ? std::string(flame_format_of(output_)) : format_;
  }

  WeightUnit unit() const {
    if (unit_ == "us") return WeightUnit::microseconds;
    return unit_ == "bytes" ? WeightUnit::bytes : WeightUnit::samples;
  }

  void add_files(StackTree& tree) {
    std::string names;
    for (const std::string& path : files_) {
      add_file(path, [&](const FoldedStack& stack) { tree.add(stack.frames, stack.weight); });
      names += (names.empty() ? "" : ", ") + shown_name(path);
    }
    if (tree.total() == 0) throw no_stacks(names);
    drawing_.subtitle = names;
    if (before_.empty()) return;
    add_file(before_,
             [&](const FoldedStack& stack) { tree.add_before(stack.frames, stack.weight); });
    if (tree.node(StackTree::root).before == 0) throw no_stacks(shown_name(before_));
    drawing_.differences = true;
    drawing_.subtitle += " compared with " + shown_name(before_);
  }

  static Error no_stacks(const std::string& names) {
    return Error("no stacks in {}", printable(names))
        .hint("a line is 'thread;outer frame;inner frame WEIGHT': see overdue flame --help");
  }

  void add_file(const std::string& path, const FoldedReader::OnStack& on_stack) {
    FoldedReader reader(on_stack);
    read_folded(path, reader);
    std::string receipt = fmt::format("overdue {} flame: {} read from {}", OVERDUE_VERSION,
                                      format_counted(reader.stacks(), "stack"), shown_name(path));
    if (reader.malformed() > 0) {
      receipt += fmt::format(
          "; {} no {}, left out",
          format_counted(reader.malformed(), "line") + (reader.malformed() == 1 ? " was" : " were"),
          reader.malformed() == 1 ? "stack" : "stacks");
      tell_problems(path, reader);
    }
    drawing_.footer += receipt + '\n';
  }

  void tell_problems(const std::string& path, const FoldedReader& reader) const {
    if (quiet_) return;
    for (const FoldedReader::Problem& problem : reader.problems())
      say("overdue: {}:{}: {}; left out\n", printable(shown_name(path)), problem.line,
          problem.what);
    const std::uint64_t more = reader.malformed() - reader.problems().size();
    if (more > 0) say("overdue: {}: {} more such lines\n", printable(shown_name(path)), more);
  }

  std::string drawn(const StackTree& tree, const std::string& format) const {
    if (format == "html") return flame_html(tree, drawing_);
    if (format == "svg") return flame_svg(tree, drawing_);
    std::string text;
    append_folded(text, tree);
    return text;
  }

  std::vector<std::string> files_;
  std::string format_, output_, before_;
  std::string unit_ = "samples";
  bool quiet_ = false;
  DrawingOptions drawing_;
};

}  // namespace

std::unique_ptr<Command> make_flame_command() {
  return std::make_unique<FlameCommand>();
}

}  // namespace overdue
