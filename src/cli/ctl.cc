// `overdue ctl`: sends requests to running measurements.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "sinks/output.h"
#include "sinks/text_format.h"
#include "source/control_socket.h"
#include "source/say.h"

namespace overdue {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds answer_within{5};
constexpr std::size_t longest_answer = 1 << 20;

/// The line of the answer, without its end.
std::string read_line(int fd, pid_t pid) {
  std::string line;
  const KernelTime deadline = KernelClock::now() + answer_within;
  while (line.size() < longest_answer) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - KernelClock::now());
    pollfd answer{.fd = fd, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&answer, 1, static_cast<int>(left.count())) == 0)
      throw Error("session {} does not answer", pid)
          .hint("its process may be stopped: overdue ctl list");
    std::array<char, 4096> buffer;
    const ssize_t length = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (length <= 0) throw Error("session {} has ended before it answered", pid);
    line.append(buffer.data(), static_cast<std::size_t>(length));
    if (const std::size_t end = line.find('\n'); end != line.npos) return line.substr(0, end);
  }
  throw Error("session {} answers without end", pid);
}

/// The answer; nothing if the session has ended. Throws Error if the session refuses the request.
std::optional<Json> ask(pid_t pid, const std::string& request) {
  const std::optional<Fd> fd = connect_to_session(pid);
  if (!fd) return std::nullopt;
  const std::string line = request + "\n";
  if (send(fd->get(), line.data(), line.size(), MSG_NOSIGNAL) < 0)
    throw Error("cannot talk to session {}: {}", pid, errno_text(errno));
  Json answer = Json::parse(read_line(fd->get(), pid), nullptr, false);
  if (!answer.is_object()) throw Error("session {} sent an invalid answer", pid);
  if (!answer.value("ok", false))
    throw Error("session {}: {}", pid, printable(answer.value("error", "it says no")));
  return answer;
}

std::string text_of(const Json& answer, std::string_view key) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

std::uint64_t number_of(const Json& answer, std::string_view key) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_number_integer() ? found->get<std::uint64_t>() : 0;
}

std::string settings_of(const Json& answer) {
  std::string text;
  const auto settings = answer.find("settings");
  if (settings == answer.end() || !settings->is_object()) return text;
  for (const auto& [name, value] : settings->items())
    if (value.is_string())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(name),
                          printable(value.get<std::string>()));
  return text;
}

std::string line_of(const Json& answer) {
  const auto target = answer.find("target");
  return fmt::format("{:<9} {:<10} {:<10} {:>8}  {}  ({})\n", number_of(answer, "session"),
                     text_of(answer, "command"), text_of(answer, "state"),
                     duration_text(number_of(answer, "age_ns")),
                     target != answer.end() && target->is_object() ? text_of(*target, "text") : "",
                     settings_of(answer));
}

class CtlCommand final : public Command {
 public:
  std::string_view name() const override { return "ctl"; }
  Rights rights() const override { return Rights::owner; }

  void add_options(CLI::App& app) override {
    app.add_option("--session", session_);
    app.add_option("-f,--format", format_);
    app.add_option("request", words_);
  }

  int run(const Invocation& invocation) override;

 private:
  std::vector<Json> list() const;
  pid_t chosen() const;
  std::string request() const;

  std::optional<pid_t> session_;
  std::string format_ = "text";
  std::vector<std::string> words_;
};

/// The sessions that this user may talk to and that answer.
std::vector<Json> CtlCommand::list() const {
  std::vector<Json> found;
  for (const pid_t pid : control_sessions()) {
    if (session_ && pid != *session_) continue;
    try {
      if (auto answer = ask(pid, "get")) found.push_back(std::move(*answer));
    } catch (const Error& error) {
      say("overdue: {}\n", error.what());
    }
  }
  return found;
}

pid_t CtlCommand::chosen() const {
  if (session_) return *session_;
  const std::vector<pid_t> pids = control_sessions();
  std::vector<pid_t> there;
  for (const pid_t pid : pids)
    if (const auto fd = connect_to_session(pid)) there.push_back(pid);
  if (there.empty()) throw Error("nothing is measured now").hint("overdue ctl list");
  if (there.size() > 1)
    throw Error("there are {} sessions: {}", there.size(), fmt::join(there, ", "))
        .hint("choose one with --session; overdue ctl list says what they do")
        .exit_status(2);
  return there[0];
}

/// The words as one line of the protocol. Throws Error (exit status 2) for an invalid request.
std::string CtlCommand::request() const {
  constexpr std::array<std::string_view, 6> verbs = {"get",    "set",      "pause",
                                                     "resume", "snapshot", "stop"};
  const std::string& verb = words_[0];
  if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end()) {
    const std::string_view close = nearest(verb, verbs);
    throw Error("ctl: '{}' is no request", printable(verb))
        .hint(close.empty() ? "overdue ctl --help" : fmt::format("did you mean '{}'?", close))
        .exit_status(2);
  }
  if (verb == "snapshot")
    throw Error("ctl snapshot is not in this version ({})", OVERDUE_VERSION).exit_status(2);
  const bool sets = verb == "set";
  if (sets ? words_.size() < 2 : words_.size() > 1)
    throw Error("ctl {}: {}", verb, sets ? "what?" : "takes nothing more")
        .hint("overdue ctl set threshold 50ms")
        .exit_status(2);
  std::string line;
  for (const std::string& word : words_) {
    if (word.find_first_of(" \n\r\t") != word.npos)
      throw Error("ctl: '{}' has white space in it", printable(word)).exit_status(2);
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

int CtlCommand::run(const Invocation&) {
  if (format_ != "text" && format_ != "json")
    throw Error("ctl: no format '{}'", printable(format_)).hint("text or json").exit_status(2);
  if (words_.empty()) throw Error("ctl: no request given").hint("overdue ctl list").exit_status(2);
  Output output(STDOUT_FILENO);
  if (words_[0] == "list" && words_.size() == 1) {
    const std::vector<Json> sessions = list();
    if (format_ == "text" && sessions.empty()) output.append("nothing is measured now\n");
    if (format_ == "text" && !sessions.empty())
      output.append("SESSION   COMMAND    STATE           AGE  TARGET  (SETTINGS)\n");
    for (const Json& session : sessions)
      output.append(format_ == "json" ? session.dump() + "\n" : line_of(session));
    output.flush();
    return 0;
  }
  const std::string line = request();
  const pid_t pid = chosen();
  const std::optional<Json> answer = ask(pid, line);
  if (!answer) throw Error("no session {}", pid).hint("overdue ctl list says which there are");
  if (format_ == "json")
    output.append(answer->dump() + "\n");
  else
    output.append(line_of(*answer));
  output.flush();
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_ctl_command() {
  return std::make_unique<CtlCommand>();
}

}  // namespace overdue
