#include "kernel/libbpf_log.h"

#include <bpf/libbpf.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t log_limit = 1 << 20;
constexpr std::string_view libbpf_mark = "libbpf: ";

// The one exception to "no static mutable state": libbpf's print callback takes no context.
std::string& collected() {
  static std::string text;
  return text;
}

std::vector<std::string>& attached_so_far() {
  static std::vector<std::string> lines;
  return lines;
}

__attribute__((format(printf, 2, 0))) int collect(libbpf_print_level level, const char* format,
                                                  va_list arguments) {
  if (level == LIBBPF_DEBUG || collected().size() > log_limit) return 0;
  va_list again;
  va_copy(again, arguments);
  const int length =
      std::vsnprintf(nullptr, 0, format, again);  // a verifier's log is one argument, and long
  va_end(again);
  if (length > 0) {
    std::string line(static_cast<std::size_t>(length) + 1, '\0');
    std::vsnprintf(line.data(), line.size(), format, arguments);
    line.pop_back();
    collected() += line;
  }
  return length;
}

/// The verifier's verdict is the last line before its statistics.
std::string verifier_verdict(std::string_view log) {
  std::string_view verdict;
  for (const std::string_view line : split(log, '\n')) {
    if (line.starts_with("processed ")) return std::string(verdict);
    if (!line.starts_with(libbpf_mark) && !line.starts_with("--")) verdict = line;
  }
  return {};
}

/// A refusal by libbpf itself, without asking the kernel: the first line. Later lines only say that
/// the load failed.
std::string libbpf_verdict(std::string_view log) {
  for (std::string_view line : split(log, '\n')) {
    if (!line.starts_with(libbpf_mark)) continue;
    line.remove_prefix(libbpf_mark.size());
    if (!line.starts_with("failed to load")) return std::string(line);
  }
  return {};
}

std::string meaning(int error) {
  switch (-error) {
    case EPERM:
      return "not permitted (no privilege, or locked down)";
    case ESRCH:
    case ENOENT:
      return "the running kernel has no such hook";
    case ENOMEM:
      return "out of memory for its maps";
    case EINVAL:
      return "this kernel does not know a part of it";
    default:
      return errno_text(-error);
  }
}

std::string reason(std::string_view log, int error) {
  if (const std::string verdict = verifier_verdict(log); !verdict.empty())
    return "the kernel's verifier refused it: " + printable(verdict);
  // These errors need no more words; for others, libbpf's message names the part that failed.
  if (error == -EPERM || error == -ENOMEM) return meaning(error);
  const std::string verdict = libbpf_verdict(log);
  return verdict.empty() ? meaning(error)
                         : fmt::format("{}: {}", meaning(error), printable(verdict));
}

std::string remedy(int error) {
  if (error == -EPERM)
    return "run as root (sudo overdue …); `overdue doctor` says what this kernel allows";
  if (error == -ENOMEM) return "try a smaller --buffer; `overdue doctor` lists limits";
  return "run `overdue doctor`; -v prints the whole log of the loader";
}

}  // namespace

LibbpfLog::LibbpfLog() {
  collected().clear();
  libbpf_set_print(collect);
}

Error LibbpfLog::refusal(const std::string& what, int error) {
  return Error("{}: {}", what, reason(collected(), error)).hint(remedy(error)).log(collected());
}

std::string LibbpfLog::refused_program() {
  constexpr std::string_view begin = "libbpf: prog '";
  const std::string_view log = collected();
  const std::size_t at = log.rfind(begin);
  if (at == std::string_view::npos) return {};
  const std::string_view name = log.substr(at + begin.size());
  return std::string(name.substr(0, name.find('\'')));
}

void LibbpfLog::attached(std::string what) {
  attached_so_far().push_back(std::move(what));
}

const std::vector<std::string>& LibbpfLog::attachments() {
  return attached_so_far();
}

}  // namespace overdue
