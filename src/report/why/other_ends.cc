#include "report/why/other_ends.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "core/span_kinds.h"
#include "report/why/root.h"
#include "source/kept_options.h"

namespace overdue {
namespace {

constexpr std::uint64_t ends_max = 100, pids_max = UINT32_MAX;
constexpr std::size_t object_max = 512, name_max = 64, ends_named = 3;

std::string kept_text(const SessionInfo& info, const std::string& name, std::size_t limit) {
  const auto found = info.options.find(name);
  return found == info.options.end() ? "" : made_printable(found->second, limit);
}

/// "127.0.0.1:40000" of the argument "from 127.0.0.1:40000".
std::string local_end(const Finding& finding) {
  constexpr std::string_view from = "from ";
  if (finding.arguments.empty() || !finding.arguments.front().starts_with(from)) return {};
  return finding.arguments.front().substr(from.size());
}

/// The path of the call, if the thread waits for the program that serves the path; or empty. No
/// relative path: the folder that it begins in is not known.
std::string path_at_fuse(const Finding& finding) {
  const Wait* wait = finding.longest_wait();
  const Stack& stack = wait ? wait->kernel_stack : finding.kernel_stack;
  const bool waits = std::ranges::any_of(
      stack, [](const StackFrame& frame) { return frame.name.starts_with("fuse_"); });
  if (!waits) return {};
  if (finding.object && finding.object->text.starts_with('/')) return finding.object->text;
  for (const std::string_view argument : finding.arguments) {
    const std::size_t begin = argument.find("=\"/");
    if (begin != argument.npos && argument.ends_with('"'))
      return std::string(argument.substr(begin + 2, argument.size() - begin - 3));
  }
  return {};
}

/// Those of `ends` for which the thread of `finding` waits, or the thread that is known to have
/// answered.
std::vector<OtherEnd> ends_of(const Finding& finding, const std::vector<OtherEnd>& ends) {
  if (is_answer(finding) && finding.ended_by) return {{.object = {}, .process = *finding.ended_by}};
  std::vector<OtherEnd> found;
  const std::optional<AwaitedEnd> wanted = awaited_end(finding);
  if (!wanted) return found;
  const std::string object = printable(wanted->object.text);
  std::ranges::copy_if(ends, std::back_inserter(found),
                       [&](const OtherEnd& end) { return end.object == object; });
  found.resize(std::min(found.size(), ends_named));
  return found;
}

std::string end_text(const OtherEnd& end) {
  return fmt::format("{}[{}]{}", printable(end.process.comm), end.process.pid,
                     end.is_stopped ? ", which is stopped" : "");
}

}  // namespace

void keep_other_ends(const std::vector<OtherEnd>& ends, SessionInfo& info) {
  std::size_t number = 0;
  for (const OtherEnd& end : ends) {
    if (number == ends_max) break;
    const std::string key = fmt::format("other_end_{}", number++);
    info.options[key + "_object"] = printable(end.object);
    info.options[key + "_pid"] = std::to_string(end.process.pid);
    info.options[key + "_comm"] = printable(end.process.comm);
    info.options[key + "_stopped"] = end.is_stopped ? "1" : "0";
  }
  info.options["other_ends"] = std::to_string(number);
}

std::vector<OtherEnd> kept_other_ends(const SessionInfo& info) {
  std::vector<OtherEnd> ends;
  const std::uint64_t count = kept_number(info.options, "other_ends", 0, ends_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = fmt::format("other_end_{}", i);
    const auto pid =
        static_cast<std::uint32_t>(kept_number(info.options, key + "_pid", 0, pids_max));
    ends.push_back({.object = kept_text(info, key + "_object", object_max),
                    .process = {pid, pid, kept_text(info, key + "_comm", name_max)},
                    .is_stopped = kept_number(info.options, key + "_stopped", 0, 1) == 1});
  }
  return ends;
}

std::optional<AwaitedEnd> awaited_end(const Finding& finding) {
  if (finding.span == span_name(SPAN_TCP_CONNECT))
    return AwaitedEnd{.pid = finding.thread.pid,
                      .object = {.kind = "socket", .text = finding.name, .remote = finding.name}};
  if (finding.span == span_name(SPAN_TCP_ANSWER))
    return AwaitedEnd{.pid = finding.thread.pid,
                      .object = {.kind = "socket",
                                 .text = finding.name,
                                 .local = local_end(finding),
                                 .remote = finding.name}};
  if (is_stopped_at_present(finding)) return std::nullopt;
  if (std::string path = path_at_fuse(finding); !path.empty())
    return AwaitedEnd{.pid = finding.thread.pid,
                      .object = {.kind = served_path, .text = std::move(path)}};
  if (!finding.object) return std::nullopt;
  const CallObject& object = *finding.object;
  const bool writes = finding.name.find("write") != std::string::npos;
  const bool has_end = object.kind == "pipe" ||
                       (object.kind == "socket" && object.side == "client") ||
                       (object.kind == "unix" && object.side == "client") ||
                       (object.text.starts_with(terminal) && writes);
  if (!has_end) return std::nullopt;
  return AwaitedEnd{.pid = finding.thread.pid, .object = object, .writes = writes};
}

void name_other_ends(WhyCause& cause, const std::vector<OtherEnd>& ends) {
  if (!cause.example || std::ranges::any_of(cause.by, [](const WhyName& by) { return by.ns > 0; }))
    return;
  std::vector<std::string> said;
  for (const OtherEnd& end : ends_of(*cause.example, ends)) {
    // A process in the middle of a chain of pipes is late itself.
    const bool waits_too = cause.waiters.contains(end.process.pid);
    said.push_back(end_text(end) + (waits_too ? ", which waits in the same way" : ""));
    if (waits_too) continue;
    cause.by.push_back({.name = fmt::format("{}[{}]", printable(end.process.comm), end.process.pid),
                        .count = 1,
                        .ns = cause.total_ns});
  }
  if (!said.empty()) cause.cause += fmt::format("; at the other end: {}", fmt::join(said, ", "));
}

}  // namespace overdue
