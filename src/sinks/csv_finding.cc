#include "sinks/csv_finding.h"

#include <functional>
#include <string_view>

#include "base/text.h"
#include "sinks/escape.h"
#include "sinks/finding_words.h"

namespace overdue {
namespace {

/// The cells of one row.
class Row {
 public:
  explicit Row(Output& output) : output_(output) {}

  void number(std::uint64_t value) {
    next();
    output_.append_number(value);
  }
  void number(std::int64_t value) {
    next();
    output_.append_number(value);
  }
  /// Text from a process or the kernel, not yet printable.
  void raw(std::string_view text) {
    next();
    append_csv_field(output_, text);
  }
  /// Text that is printable already.
  void words(std::string_view text) {
    next();
    append_csv_field(output_, text, Backslashes::kept);
  }
  void nothing() { next(); }

 private:
  void next() {
    if (!is_first_) output_.append(',');
    is_first_ = false;
  }

  Output& output_;
  bool is_first_ = true;
};

std::string waker_text(const Wait& wait) {
  if (!wait.waker) return {};
  const Waker& waker = *wait.waker;
  return waker.is_thread ? thread_text(waker.thread)
                         : interrupt_text(waker.means, waker.disk, waker.context);
}

std::string arguments_text(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : ", ") + argument;
  return text;
}

/// Outermost first, as in folded stacks.
std::string folded(const std::vector<std::string>& functions) {
  std::string text;
  for (const std::string& function : functions) text += (text.empty() ? "" : ";") + function;
  return text;
}

std::vector<std::string> functions_of(const Stack& stack) {
  std::vector<std::string> functions;
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame)
    functions.push_back(to_text(*frame));
  return functions;
}

struct CsvColumn {
  std::string_view name;
  std::function<void(Row&, const Finding&, const SessionInfo&)> write;
};

template <typename Member>
CsvColumn part(std::string_view name, Member Breakdown::* member) {
  return {name, [member](Row& row, const Finding& f, const SessionInfo&) {
            if (f.breakdown)
              row.number((*f.breakdown).*member);
            else
              row.nothing();
          }};
}

const std::vector<CsvColumn>& columns() {
  static const std::vector<CsvColumn> all{
      {"type", [](Row& row, const Finding& f, const SessionInfo&) { row.raw(f.type); }},
      {"number", [](Row& row, const Finding& f, const SessionInfo&) { row.number(f.number); }},
      {"like", [](Row& row, const Finding& f,
                  const SessionInfo&) { f.like ? row.number(f.like) : row.nothing(); }},
      {"time", [](Row& row, const Finding& f,
                  const SessionInfo& info) { row.raw(format_rfc3339(info.wall(f.time))); }},
      {"span", [](Row& row, const Finding& f, const SessionInfo&) { row.raw(f.span); }},
      {"name", [](Row& row, const Finding& f, const SessionInfo&) { row.raw(f.name); }},
      {"args", [](Row& row, const Finding& f,
                  const SessionInfo&) { row.words(arguments_text(f.arguments)); }},
      {"ret", [](Row& row, const Finding& f,
                 const SessionInfo&) { f.result ? row.number(*f.result) : row.nothing(); }},
      {"error", [](Row& row, const Finding& f, const SessionInfo&) { row.raw(f.error); }},
      {"pid", [](Row& row, const Finding& f,
                 const SessionInfo&) { row.number(std::uint64_t{f.thread.pid}); }},
      {"tid", [](Row& row, const Finding& f,
                 const SessionInfo&) { row.number(std::uint64_t{f.thread.tid}); }},
      {"comm", [](Row& row, const Finding& f, const SessionInfo&) { row.raw(f.thread.comm); }},
      {"cpu",
       [](Row& row, const Finding& f, const SessionInfo&) { row.number(std::uint64_t{f.cpu}); }},
      {"latency_ns",
       [](Row& row, const Finding& f, const SessionInfo&) { row.number(f.latency_ns); }},
      {"threshold_ns",
       [](Row& row, const Finding& f, const SessionInfo&) { row.number(f.threshold_ns); }},
      {"late_ns", [](Row& row, const Finding& f, const SessionInfo&) { row.number(f.late_ns()); }},
      part("oncpu_ns", &Breakdown::oncpu_ns),
      part("runqueue_ns", &Breakdown::runqueue_ns),
      part("preempted_ns", &Breakdown::preempted_ns),
      part("throttled_ns", &Breakdown::throttled_ns),
      part("sleeping_ns", &Breakdown::sleeping_ns),
      part("uninterruptible_ns", &Breakdown::uninterruptible_ns),
      part("irq_ns", &Breakdown::irq_ns),
      part("softirq_ns", &Breakdown::softirq_ns),
      part("unknown_ns", &Breakdown::unknown_ns),
      {"waited_in",
       [](Row& row, const Finding& f, const SessionInfo&) {
         const Wait* const wait = f.longest_wait();
         row.words(wait ? folded(telling_functions(wait->kernel_stack)) : "");
       }},
      {"waker",
       [](Row& row, const Finding& f, const SessionInfo&) {
         const Wait* const wait = f.longest_wait();
         row.words(wait ? waker_text(*wait) : "");
       }},
      {"called_from",
       [](Row& row, const Finding& f, const SessionInfo&) {
         row.words(f.user_stack ? folded(functions_of(*f.user_stack)) : "");
       }},
      {"cause", [](Row& row, const Finding& f, const SessionInfo&) { row.raw(f.cause); }},
  };
  return all;
}

}  // namespace

std::vector<std::string> finding_columns() {
  std::vector<std::string> names;
  for (const CsvColumn& column : columns()) names.emplace_back(column.name);
  return names;
}

void append_finding_row(Output& output, const Finding& finding, const SessionInfo& info) {
  Row row(output);
  for (const CsvColumn& column : columns()) column.write(row, finding, info);
  output.append('\n');
}

}  // namespace overdue
