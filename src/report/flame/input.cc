#include "report/flame/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "core/probe.h"
#include "core/recorded_stacks.h"
#include "report/replay.h"
#include "report/stalls/flame.h"
#include "report/stalls/replay.h"
#include "resolve/file_names.h"
#include "sinks/text_format.h"
#include "source/say.h"
#include "trace/byte_source.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace overdue {
namespace {

/// Bytes without a stack after which reading stops: a device or a pipe need not end.
constexpr std::size_t max_without_stacks = 64u << 20;
constexpr const char* folded_hint =
    "a line is 'thread;outer frame;inner frame WEIGHT': see overdue flame --help";

std::string shown_name(const std::string& path) {
  return path == "-" ? "standard input" : path.substr(path.rfind('/') + 1);
}

void print_problems(const std::string& name, const FoldedReader& reader) {
  for (const FoldedReader::Problem& problem : reader.problems())
    say("overdue: {}:{}: {}; left out\n", printable(name), problem.line, problem.what);
  const std::uint64_t more = reader.malformed() - reader.problems().size();
  if (more > 0) say("overdue: {}: {} more such lines\n", printable(name), more);
}

/// Keeps the receipt of a recording, and drops its findings, which are drawn elsewhere.
class ReceiptSink final : public Sink {
 public:
  explicit ReceiptSink(std::vector<std::string>& lines) : lines_(lines) {}
  void end(const SessionInfo& info, const Receipt& receipt) override {
    for (std::string& line : receipt_lines(info, receipt)) lines_.push_back(std::move(line));
  }

 private:
  std::vector<std::string>& lines_;
};

/// Names the frames that a recording has no names for, if a sandbox for that can be made.
class LateNames {
 public:
  Stack named(StackFrame frame) {
    if (!files_ && note_.empty()) begin();
    return files_ ? files_->named(std::move(frame)) : Stack{std::move(frame)};
  }
  const std::string& note() const { return note_; }

 private:
  void begin() {
    try {
      files_.emplace(FileNames::Options{});
    } catch (const Error& error) {
      note_ =
          fmt::format("frames that the recording has no names for stay without: {}", error.what());
    }
  }

  std::optional<FileNames> files_;  ///< made for the first such frame
  std::string note_;                ///< why there are no names; empty if there are
};

std::string range_text(const FlameInputOptions& options) {
  std::string text;
  if (options.from) text += " from " + format_duration(*options.from);
  if (options.to) text += " to " + format_duration(*options.to);
  return text;
}

}  // namespace

FlameInput::FlameInput(FlameInputOptions options, const std::vector<std::string>& files,
                       const std::string& before)
    : options_(std::move(options)) {
  StackFilter filter(options_.filter), before_filter(options_.filter);
  std::vector<File> opened;
  for (const std::string& path : files) {
    opened.push_back(open_file(path));
    names_ += (names_.empty() ? "" : ", ") + shown_name(path);
  }
  if (!before.empty()) opened.push_back(open_file(before));
  check_range(opened);
  tree_ = StackTree(unit_of(opened));
  Counts all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Counts counts = read(opened[i], [&](const FoldedStack& stack) {
      if (const auto frames = filter.kept(stack)) tree_.add(*frames, stack.weight);
    });
    all.read += counts.read;
    all.outside += counts.outside;
  }
  note_filter(filter, tree_.total());
  check_not_empty(tree_.total(), names_, all, filter);
  if (before.empty()) return;
  before_name_ = shown_name(before);
  all = read(opened.back(), [&](const FoldedStack& stack) {
    if (const auto frames = before_filter.kept(stack)) tree_.add_before(*frames, stack.weight);
  });
  note_filter(before_filter, tree_.node(StackTree::root).before);
  check_not_empty(tree_.node(StackTree::root).before, before_name_, all, before_filter);
}

FlameInput::File FlameInput::open_file(const std::string& path) {
  File opened{.path = path,
              .file = Fd(path == "-" ? dup(STDIN_FILENO)
                                     : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)),
              .taken = {}};
  if (!opened.file)
    throw Error("cannot open the stacks {}: {}", printable(path), errno_text(errno));
  opened.is_recording = begins_with(opened.file, fmt::format("the stacks {}", printable(path)),
                                    trace_format::magic, opened.taken);
  return opened;
}

void FlameInput::check_range(const std::vector<File>& files) const {
  if (!options_.from && !options_.to) return;
  if (options_.from && options_.to && *options_.from > *options_.to)
    throw Error("--from {} is later than --to {}", format_duration(*options_.from),
                format_duration(*options_.to))
        .exit_status(2);
  for (const File& file : files)
    if (!file.is_recording)
      throw Error("--from and --to are for recordings, and {} has folded stacks, without times",
                  printable(shown_name(file.path)))
          .hint("overdue stalls --save FILE makes a recording")
          .exit_status(2);
}

WeightUnit FlameInput::unit_of(const std::vector<File>& files) const {
  const auto recording = std::ranges::find(files, true, &File::is_recording);
  if (recording == files.end()) return options_.unit.value_or(WeightUnit::samples);
  const auto folded = std::ranges::find(files, false, &File::is_recording);
  if (options_.unit ? *options_.unit == WeightUnit::microseconds : folded == files.end())
    return WeightUnit::microseconds;
  if (options_.unit)
    throw Error("the weights of {}, a recording, are microseconds",
                printable(shown_name(recording->path)))
        .hint("--unit us, or leave it out")
        .exit_status(2);
  throw Error("{} is a recording, with weights in microseconds; {} does not name its unit",
              printable(shown_name(recording->path)), printable(shown_name(folded->path)))
      .hint("--unit us, if its weights are microseconds")
      .exit_status(2);
}

FlameInput::Counts FlameInput::read(File& file, const FoldedReader::OnStack& on_stack) {
  return file.is_recording ? read_recording(file, on_stack) : read_folded(file, on_stack);
}

FlameInput::Counts FlameInput::read_folded(File& file, const FoldedReader::OnStack& on_stack) {
  has_folded_ = true;
  FoldedReader reader(on_stack);
  reader.feed(file.taken);
  std::array<char, 64 << 10> buffer;
  for (std::size_t bytes = 0;;) {
    const ssize_t length = ::read(file.file.get(), buffer.data(), buffer.size());
    if (length == 0) break;
    if (length < 0 && errno == EINTR) continue;
    check_errno(static_cast<int>(std::min<ssize_t>(length, 0)), "cannot read the stacks {}",
                printable(file.path));
    reader.feed({buffer.data(), static_cast<std::size_t>(length)});
    bytes += static_cast<std::size_t>(length);
    if (bytes > max_without_stacks && reader.stacks() == 0)
      throw Error("no stacks in the first {} MiB of {}", max_without_stacks >> 20,
                  printable(file.path))
          .hint(folded_hint);
  }
  reader.finish();
  const std::string name = shown_name(file.path);
  std::string line = fmt::format("overdue {} flame: {} read from {}", OVERDUE_VERSION,
                                 format_counted(reader.stacks(), "stack"), name);
  if (reader.malformed() > 0) {
    const bool one = reader.malformed() == 1;
    line += fmt::format("; {} {} no {}, left out", format_counted(reader.malformed(), "line"),
                        one ? "was" : "were", one ? "stack" : "stacks");
    if (!options_.quiet) print_problems(name, reader);
  }
  receipt_.push_back(std::move(line));
  return {.read = reader.stacks()};
}

FlameInput::Counts FlameInput::read_recording(File& file, const FoldedReader::OnStack& on_stack) {
  const std::string name = shown_name(file.path);
  if (!file.taken.empty()) file.file = copy_of_stream(file.file, printable(name), file.taken);
  const std::vector<const Schema*> schemas = all_schemas();
  TraceReader reader(std::move(file.file), schemas, file.path);
  const SessionInfo& info = reader.info();
  if (report_of(info) != RecordedReport::calls || !has_stalls(info))
    throw Error("{}, a recording of `overdue {}`, has no stalls to draw", printable(name),
                printable(info.command))
        .hint(info.command == "profile"
                  ? "overdue report FILE -f svg draws a profile"
                  : "overdue stalls --save FILE, or overdue record -T TIME, makes one that has")
        .exit_status(2);
  Counts counts;
  NestedFindings findings([&](FoldedStack stack) {
    stack.weight = rounded_us(stack.weight);
    on_stack(stack);
  });
  StallViewOptions view_options;
  options_.take_recorded(info, view_options);
  view_options.on_finding = [&](const Finding& finding) {
    const Duration since_start =
        finding.time > info.start ? finding.time - info.start : Duration(0);
    const bool is_in_range = since_start >= options_.from.value_or(Duration(0)) &&
                             since_start <= options_.to.value_or(Duration::max());
    ++(is_in_range ? counts.read : counts.outside);
    if (is_in_range) findings.add(finding);
  };
  LateNames names;
  RecordedStacks stacks([&](StackFrame frame) { return names.named(std::move(frame)); });
  std::vector<std::string> lines;
  ReceiptSink sink(lines);
  StallView view(std::move(view_options), stacks, sink);
  StallReplay replay(view, stacks);
  reader.replay(replay);
  findings.end();
  std::string line =
      fmt::format("overdue {} flame: {} of {}{}", OVERDUE_VERSION,
                  format_counted(counts.read, "finding"), name, range_text(options_));
  if (counts.outside > 0)
    line += fmt::format("; {} outside", format_counted(counts.outside, "finding"));
  receipt_.push_back(std::move(line));
  if (!names.note().empty()) receipt_.push_back(names.note());
  std::ranges::move(lines, std::back_inserter(receipt_));
  return counts;
}

void FlameInput::note_filter(const StackFilter& filter, std::uint64_t kept_weight) {
  if (filter.left_out() == 0) return;
  std::uint64_t all = 0;
  if (__builtin_add_overflow(filter.left_out_weight(), kept_weight, &all)) all = ~std::uint64_t{0};
  left_out_.push_back(fmt::format("{}, with {} of the weight, left out; kept: stacks {}",
                                  format_counted(filter.left_out(), "stack"),
                                  format_share(filter.left_out_weight(), all), filter.selection()));
  receipt_.push_back(left_out_.back());
}

void FlameInput::print_left_out() const {
  if (options_.quiet) return;
  for (const std::string& line : left_out_) say("overdue: {}\n", printable(line));
  for (const std::string& line : limit_notes(tree_)) say("overdue: {}\n", printable(line));
}

void FlameInput::check_not_empty(std::uint64_t weight, const std::string& names,
                                 const Counts& counts, const StackFilter& filter) const {
  if (weight > 0) return;
  if (filter.left_out() > 0)
    throw Error("no stacks match in {}: of {}, none {}", printable(names), filter.left_out(),
                printable(filter.selection()));
  if (counts.outside > 0)
    throw Error("no findings in {}{}: {} outside", printable(names), range_text(options_),
                format_counted(counts.outside, "finding"));
  Error error("no stacks in {}", printable(names));
  if (has_folded_) throw std::move(error).hint(folded_hint);
  throw std::move(error).hint("the recording has no findings: overdue report shows it");
}

void FlameInput::describe(DrawingOptions& drawing) const {
  if (!has_folded_) drawing.title = stalls_title;
  drawing.subtitle = names_;
  drawing.counted = has_folded_ ? "stack" : "wait";
  drawing.differences = !before_name_.empty();
  if (drawing.differences) drawing.subtitle += " compared with " + before_name_;
  for (const std::string& line : receipt_) drawing.footer += line + '\n';
}

}  // namespace overdue
