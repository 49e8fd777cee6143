#include "report/why/answers.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "analysis/wait_functions.h"
#include "core/span_kinds.h"
#include "report/why/root.h"
#include "source/kept_options.h"

namespace overdue {
namespace {

constexpr std::size_t waits_max = 1'000, sockets_max = 1'000, loops_max = 1'000, peers_max = 1'000;

std::optional<std::uint32_t> socket_of(const Finding& finding) {
  for (const std::string_view argument : finding.arguments)
    for (const std::string_view name : {"fd=", "sockfd="})
      if (argument.starts_with(name)) {
        std::uint32_t fd = 0;
        const std::string_view value = argument.substr(name.size());
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), fd);
        if (error == std::errc()) return fd;
      }
  return std::nullopt;
}

bool is_for_events(const Finding& finding) {
  return finding.span == span_name(SPAN_SYSCALL) &&
         wait_kind_of_call(finding.name) == WaitKind::events;
}

bool is_for_one_descriptor(const Finding& finding) {
  return finding.name.ends_with("poll") &&
         std::ranges::find(finding.arguments, "nfds=1") != finding.arguments.end();
}

/// Whether the call slept, and its waits have no record: the first and the last ones of a session.
/// The kernel's functions in which it waited, and the threads that ended the waits, are not known.
bool has_unknown_waits(const Finding& finding) {
  return finding.span == span_name(SPAN_SYSCALL) && !finding.longest_wait() &&
         finding.kernel_stack.empty() && finding.breakdown &&
         finding.breakdown->ns(ShareKind::sleeping) > finding.latency_ns / 2;
}

bool is_input_without_wait(const Finding& finding) {
  return has_unknown_waits(finding) &&
         (finding.name.starts_with("read") || finding.name.starts_with("recv"));
}

/// Whether the thread waited for another one, for a lock or for work: nothing shows which.
bool is_condition_without_wait(const Finding& finding) {
  return has_unknown_waits(finding) && wait_kind_of_call(finding.name) == WaitKind::condition &&
         !waits_for_lock(finding);
}

bool is_for_input_of_socket(const Finding& finding) {
  const Wait* wait = finding.longest_wait();
  if (!wait) return false;  // what the other side did is not known
  return std::ranges::any_of(wait->kernel_stack, [](const StackFrame& frame) {
    return frame.name == "sk_wait_data" || frame.name.starts_with("unix_stream_read_generic");
  });
}

bool is_of_network(const ChainLink& end) {
  return !end.is_thread && end.what.find("NET_RX") != std::string::npos;
}

/// Whether the thread at the other end waited for work itself: then the connection is one over
/// which work comes. What came over the network for the thread is an answer, or the rest of a
/// request. One in an event loop may have waited for an answer too: only what runs, or
/// waits for something else than input, at the end of the chain shows this for certain.
bool is_other_side_idle(const Finding& finding) {
  const ChainLink* last = nullptr;
  std::size_t threads = 0;
  for (const ChainLink& link : finding.chain)
    if (link.is_thread) {
      last = &link;
      ++threads;
    }
  if (!last || last->what != "waited") return false;
  for (const StackFrame& frame : last->kernel_stack) {
    const WaitKind kind = wait_kind_of_kernel(frame.name);
    if (kind == WaitKind::input && threads == 1) return !is_of_network(finding.chain.back());
    if (kind == WaitKind::events || kind == WaitKind::input) return true;
    if (kind == WaitKind::sleep || kind == WaitKind::condition) return threads > 1;
  }
  return false;
}

/// Whether the thread at the other end was seen at something else than waiting: then an answer that
/// came late is no message that was held back until there was one.
bool is_other_side_busy(const Finding& finding) {
  const auto last = std::ranges::find_if(finding.chain.rbegin(), finding.chain.rend(),
                                         [](const ChainLink& link) { return link.is_thread; });
  if (last == finding.chain.rend()) return false;
  if (last->what == "waited" && last->kernel_stack.empty()) return false;  // for what is not known
  const auto is_for_condition = [](const StackFrame& frame) {
    return wait_kind_of_kernel(frame.name) == WaitKind::condition;
  };
  return !is_other_side_idle(finding) &&
         !(last->what == "waited" && std::ranges::any_of(last->kernel_stack, is_for_condition));
}

/// Whether a wait for events ended with one event from another process, most of the time of the
/// answer is in it, and the thread took the answer at once.
bool has_brought(const Finding& loop, const Finding& answer) {
  constexpr Duration at_once = std::chrono::milliseconds(5);
  if (loop.chain.empty() || !loop.chain.front().is_thread ||
      loop.chain.front().thread.pid == answer.thread.pid)
    return false;
  return loop.result == 1 && loop.time <= answer.time && answer.time - loop.time < at_once &&
         loop.latency_ns >= answer.latency_ns / 2;
}

/// Whether the name of a span of an answer is that of `peer`. The name of the listener of a unix
/// socket may be cut.
bool is_listener_of(std::string_view name, std::string_view peer) {
  constexpr std::string_view cut = "…";
  if (!name.ends_with(cut)) return name == peer;
  return peer.starts_with(name.substr(0, name.size() - cut.size()));
}

constexpr std::string_view clients_socket = "a client's socket";

/// Whether a thread waited in a call for data of a server over a unix socket. Nothing of the socket
/// shows whether the thread had asked.
bool is_of_unix_client(const Finding& finding) {
  return finding.purpose.by == clients_socket && finding.type != "hang" && finding.object &&
         finding.object->kind == "unix";
}

/// Whether both sides waited for each other: a packet came late. The client's packet was sent at
/// the end of its wait, so that the wait before counts as one before the question.
bool do_both_wait(const Finding& finding) {
  if (finding.purpose.by != clients_socket || finding.chain.empty()) return false;
  const ChainLink& first = finding.chain.front();
  return first.is_thread && first.what == "waited" && finding.chain.size() == 2 &&
         is_of_network(finding.chain.back()) && !is_other_side_idle(finding);
}

/// Processes that connect, and never accept.
std::set<std::uint32_t> clients_in(const LatencyTable& calls) {
  std::map<std::uint32_t, bool> clients;
  for (const LatencyRow& row : calls.rows) {
    if (!row.process) continue;
    if (row.name == "connect") clients.try_emplace(row.process->pid, true);
    if (row.name == "accept" || row.name == "accept4") clients[row.process->pid] = false;
  }
  std::set<std::uint32_t> pids;
  for (const auto& [pid, is_client] : clients)
    if (is_client) pids.insert(pid);
  return pids;
}

/// The socket for which the wait may be; nothing if the wait is for something else.
std::optional<std::uint32_t> candidate(const Finding& finding, bool of_program) {
  const std::string_view by = finding.purpose.by;
  if (do_both_wait(finding)) return socket_of(finding);
  if (is_for_events(finding)) {
    const bool is_open_to =
        by == "one descriptor" || by == "timed out" || by == "its main function";
    if (is_open_to && is_for_one_descriptor(finding)) return ProcessSocket::any;
    const bool was_answered = finding.result && *finding.result > 0;
    return of_program && was_answered ? std::optional(ProcessSocket::loop) : std::nullopt;
  }
  if (finding.span != span_name(SPAN_SYSCALL) || finding.purpose.of == "time" ||
      (!by.empty() && by != "its main function") || !is_for_input_of_socket(finding))
    return std::nullopt;
  return socket_of(finding);
}

/// Whether the wait on the socket, or on one of the process, is for an answer.
bool is_for_answer(const ProcessSocket& socket, const Finding& wait,
                   const std::set<std::uint32_t>& clients, const std::set<ProcessSocket>& opened) {
  return opened.contains(socket) || clients.contains(socket.pid) || do_both_wait(wait);
}

}  // namespace

bool Answers::decide(const Finding& finding) {
  if (is_answer(finding)) return true;
  if (was_resent(finding)) return false;
  // A client that has asked for work, and gets it when there is some.
  if (finding.purpose.by == clients_socket)
    return is_of_unix_client(finding) || is_other_side_idle(finding);
  if (is_input_without_wait(finding) || is_condition_without_wait(finding)) return true;
  return is_for_events(finding) &&
         (finding.purpose.by == "one descriptor" || finding.purpose.by == "timed out");
}

bool Answers::is_for_news(const Finding& finding) {
  return finding.purpose.by == clients_socket && !is_of_unix_client(finding) &&
         !was_resent(finding) && is_other_side_idle(finding);
}

bool Answers::has_just_asked(const Finding& finding) {
  constexpr std::uint64_t at_once_ns = 12'000'000;  // the kernel keeps the time in ticks
  if (!finding.object || !finding.object->written_ns) return false;
  const std::uint64_t written_ns = *finding.object->written_ns;
  return written_ns + at_once_ns > finding.latency_ns &&
         written_ns < finding.latency_ns + at_once_ns;
}

void Answers::note_peer(const Finding& finding) {
  if (!finding.object || peers_.size() >= peers_max) return;
  const CallObject& object = *finding.object;
  if (!object.remote.empty()) peers_.emplace(finding.thread.pid, object.remote);
  if (object.kind == "unix" && object.side == "client")
    peers_.emplace(finding.thread.pid, object.text);
}

void Answers::note_question(std::uint32_t pid, std::string_view listener) {
  if (asked_.size() < peers_max) asked_.emplace(pid, listener);
}

bool Answers::has_asked(const Finding& unix_wait) const {
  if (!unix_wait.object) return false;
  const std::string& name = unix_wait.object->text;
  return std::ranges::any_of(asked_, [&](const auto& asked) {
    return asked.first == unix_wait.thread.pid && is_listener_of(asked.second, name);
  });
}

/// Whether a thread of the process waited for the same peer in a call.
bool Answers::is_of_noted_peer(const Finding& answer) const {
  return std::ranges::any_of(peers_, [&](const auto& peer) {
    return peer.first == answer.thread.pid && is_listener_of(answer.name, peer.second);
  });
}

/// The wait for events that ended with the answer shows what the other end did.
void Answers::add_answer(Finding answer) {
  if (answers_.size() >= waits_max) {
    ++dropped_;
    return;
  }
  const auto loop = loops_.find(answer.thread.tid);
  if (loop != loops_.end() && has_brought(loop->second, answer)) {
    answer.waits = loop->second.waits;
    answer.places = loop->second.places;
    answer.chain = loop->second.chain;
  }
  answers_.push_back(std::move(answer));
}

bool Answers::add(const Finding& finding) {
  if (is_answer(finding)) {
    add_answer(finding);
    return false;
  }
  note_peer(finding);
  if (is_for_events(finding) && (loops_.size() < loops_max || loops_.contains(finding.thread.tid)))
    loops_[finding.thread.tid] = finding;
  const bool is_of_unix = is_of_unix_client(finding);
  const auto fd = candidate(finding, of_program_);
  if ((!fd && !is_of_unix) || is_other_side_idle(finding)) return false;
  if (waits_.size() + unix_waits_.size() >= waits_max) {
    ++dropped_;
    return false;
  }
  if (is_of_unix)
    unix_waits_.push_back(finding);
  else
    waits_.emplace_back(ProcessSocket{finding.thread.pid, *fd}, finding);
  return true;
}

std::set<ProcessSocket> Answers::sockets() const {
  std::set<ProcessSocket> all;
  for (const auto& [socket, finding] : waits_)
    if (socket.fd != ProcessSocket::loop) all.insert(socket);
  return all;
}

std::set<AwaitedEnd> Answers::awaited_ends() const {
  std::set<AwaitedEnd> ends;
  for (const Finding& answer : answers_)
    if (is_late(answer))
      if (auto end = awaited_end(answer)) ends.insert(std::move(*end));
  return ends;
}

Answers Answers::next() const {
  Answers next(of_program_, sees_unix_questions_);
  next.loops_ = loops_;
  next.peers_ = peers_;
  next.asked_ = asked_;
  return next;
}

bool Answers::is_late(const Finding& answer) const {
  if (is_of_noted_peer(answer)) return false;
  return answer.purpose.of == "answer" || was_resent(answer) || is_other_side_busy(answer);
}

std::vector<Finding> Answers::late(const LatencyTable& calls,
                                   const std::set<ProcessSocket>& opened) const {
  const std::set<std::uint32_t> clients = clients_in(calls);
  std::vector<Finding> late;
  for (const auto& [socket, finding] : waits_) {
    if (!is_for_answer(socket, finding, clients, opened)) continue;
    late.push_back(finding);
    late.back().purpose = {"answer", std::string(by_opened), 0};
  }
  for (const Finding& wait : unix_waits_)
    if (!sees_unix_questions_ || has_asked(wait)) late.push_back(wait);
  for (const Finding& answer : answers_)
    if (is_late(answer) && !(of_program_ && clients.contains(answer.thread.pid)))
      late.push_back(answer);
  return late;
}

std::vector<Finding> Answers::idle(const LatencyTable& calls,
                                   const std::set<ProcessSocket>& opened) const {
  const std::set<std::uint32_t> clients = clients_in(calls);
  std::vector<Finding> idle;
  for (const auto& [socket, finding] : waits_)
    if (finding.purpose.of == "work" && !is_for_answer(socket, finding, clients, opened))
      idle.push_back(finding);
  for (const Finding& wait : unix_waits_)
    if (sees_unix_questions_ && !has_asked(wait)) {
      idle.push_back(wait);
      idle.back().purpose = {"work", "has asked nothing", wait.latency_ns};
    }
  return idle;
}

void keep_opened_sockets(const std::set<ProcessSocket>& sockets, SessionInfo& info) {
  std::size_t number = 0;
  for (const ProcessSocket& socket : sockets) {
    if (number == sockets_max) break;
    const std::string key = fmt::format("opened_socket_{}", number++);
    info.options[key + "_pid"] = std::to_string(socket.pid);
    info.options[key + "_fd"] = std::to_string(socket.fd);
  }
  info.options["opened_sockets"] = std::to_string(number);
}

std::set<ProcessSocket> kept_opened_sockets(const SessionInfo& info) {
  std::set<ProcessSocket> sockets;
  const std::uint64_t count = kept_number(info.options, "opened_sockets", 0, sockets_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = fmt::format("opened_socket_{}", i);
    const auto number = [&](const char* name) {
      return static_cast<std::uint32_t>(kept_number(info.options, key + name, 0, UINT32_MAX));
    };
    sockets.insert({number("_pid"), number("_fd")});
  }
  return sockets;
}

}  // namespace overdue
