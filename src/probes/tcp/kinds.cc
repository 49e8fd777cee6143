#include "probes/tcp/kinds.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/ip_text.h"
#include "core/finding.h"
#include "core/record.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

std::string dotted(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 255, address >> 8 & 255,
                     address & 255);
}

/// "[2001:db8::1]" from 32 hexadecimal digits, or the IPv4 address that stands for itself in IPv6;
/// "[]" for other text.
std::string ipv6(std::string_view digits) {
  constexpr std::string_view mapped = "00000000000000000000ffff";
  constexpr std::size_t of_ipv4 = 12;
  std::array<unsigned char, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* at = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, bytes[i], 16);
    if (error != std::errc() || end != at + 2) return "[]";
  }
  if (digits.starts_with(mapped)) return ip_text(bytes.data() + of_ipv4, false);
  return fmt::format("[{}]", ip_text(bytes.data(), true));
}

constexpr std::size_t tries_digits = 16;

void put_tries(std::uint64_t tries, ConnectEnds& ends) {
  ends.syns = static_cast<unsigned>(tries >> 48);
  ends.queue = static_cast<unsigned>(tries >> 24 & 0xffffff);
  ends.queue_limit = static_cast<unsigned>(tries & 0xffffff);
}

/// ": listen queue full (2/1), 3 SYNs sent"; empty: the first SYN was answered, or is on its way.
std::string tries_text(const ConnectEnds& ends) {
  std::string text;
  if (ends.is_queue_full())
    text = fmt::format(": listen queue full ({}/{})", ends.queue, ends.queue_limit);
  if (ends.syns > 1) text += fmt::format("{} {} SYNs sent", text.empty() ? ":" : ",", ends.syns);
  return text;
}

std::string remote(const span_record& span) {
  return connect_ends(span).remote;
}

void describe_connection(const span_record& span, Finding& finding) {
  const ConnectEnds ends = connect_ends(span);
  if (!ends.local.ends_with(":0")) finding.arguments = {"from " + ends.local};
  std::string outcome;
  if (span.flags & SPAN_FAILED) {
    const char* name = ends.error ? strerrorname_np(ends.error) : nullptr;
    if (name) finding.error = name;
    outcome = ends.error == ECONNREFUSED ? " refused"
              : ends.error == ETIMEDOUT  ? " not answered"
              : ends.error == 0          ? " given up"
                                         : fmt::format(" failed: {}", finding.error);
  }
  finding.title = fmt::format("tcp connect {}{}{}", finding.name, outcome, tries_text(ends));
}

WaitPurpose for_client() {
  return {.of = "answer", .by = "a client of the process waited"};
}

void describe_answer(const span_record& span, Finding& finding) {
  const ConnectEnds ends = connect_ends(span);
  finding.arguments = {"from " + ends.local};
  if (span.flags & SPAN_FOR_CLIENT) finding.purpose = for_client();
  finding.title = "answer of " + finding.name;
  if (ends.resends == 0) return;
  finding.object = CallObject{.kind = "socket",
                              .text = fmt::format("tcp {}->{}", ends.local, ends.remote),
                              .local = ends.local,
                              .remote = ends.remote,
                              .side = "client",
                              .resends = ends.resends,
                              .resent_ns = ends.resent_ns};
}

void describe_unix_answer(const span_record& span, Finding& finding) {
  if (span.flags & SPAN_FOR_CLIENT) finding.purpose = for_client();
  finding.title = "answer of " + finding.name;
}

void visit_unix(const span_record& span, FieldVisitor& visitor) {
  if (span.flags & SPAN_FOR_CLIENT) visitor.number("for_client", 1, Unit::none);
}

void visit(const span_record& span, FieldVisitor& visitor) {
  const ConnectEnds ends = connect_ends(span);
  visitor.text("local", ends.local);
  if (span.flags & SPAN_FOR_CLIENT) visitor.number("for_client", 1, Unit::none);
  if (ends.error != 0) visitor.number("errno", static_cast<u64>(ends.error), Unit::none);
  if (ends.syns > 1) visitor.number("syns", ends.syns, Unit::count);
  if (ends.resends > 0) visitor.number("resends", ends.resends, Unit::count);
  if (ends.is_queue_full()) {
    visitor.number("queue", ends.queue, Unit::count);
    visitor.number("queue_limit", ends.queue_limit, Unit::count);
  }
}

/// With address family and remote port. The other bits of the addresses do not make rows: spans
/// with the same name are added up once more.
constexpr SummedBy of_remote = {.subject = all_bits, .detail = 0x0000'ffff'0000'ffff, .text = true};

constexpr SpanKind connection_kinds[] = {
    {.number = SPAN_TCP_CONNECT,
     .name = "tcp_connect",
     .sentence = "a TCP connection from SYN sent to established or refused",
     .owner = SpanOwner::beginner,
     .summed_by = of_remote,
     .subject = remote,
     .describe = describe_connection,
     .visit = visit},
    {.number = SPAN_TCP_ANSWER,
     .name = "tcp_answer",
     .sentence = "a question over TCP, from the last data sent to the first data of the answer",
     .owner = SpanOwner::beginner,
     .summed_by = of_remote,
     .subject = remote,
     .describe = describe_answer,
     .visit = visit},
    {.number = SPAN_UNIX_ANSWER,
     .name = "unix_answer",
     .sentence = "a question over a unix socket, from the last data sent to the first data of the "
                 "answer",
     .owner = SpanOwner::both,
     .summed_by = {.subject = all_bits, .detail = all_bits, .text = true},
     .subject = unix_listener,
     .describe = describe_unix_answer,
     .visit = visit_unix}};

}  // namespace

ConnectEnds connect_ends(const span_record& span) {
  const auto remote_port = static_cast<std::uint16_t>(span.detail);
  const auto local_port = static_cast<std::uint16_t>(span.detail >> 16);
  const auto family = static_cast<std::uint16_t>(span.detail >> 32);
  ConnectEnds ends;
  const auto outcome = static_cast<unsigned>(span.detail >> 48);
  if (span.span == SPAN_TCP_ANSWER) {
    ends.resends = outcome & 255;
    ends.resent_ns =
        static_cast<std::uint64_t>(static_cast<double>(span.latency_ns) * (outcome >> 8) / 255);
  } else {
    ends.error = static_cast<int>(outcome);
  }
  if (family == AF_INET6) {
    ends.remote = fmt::format("{}:{}", ipv6({span.text, sizeof span.text}), remote_port);
    ends.local = fmt::format(":{}", local_port);
    put_tries(span.subject, ends);
  } else {
    ends.remote = fmt::format("{}:{}", dotted(static_cast<u32>(span.subject)), remote_port);
    ends.local = fmt::format("{}:{}", dotted(static_cast<u32>(span.subject >> 32)), local_port);
    std::uint64_t tries = 0;
    const auto [end, error] = std::from_chars(span.text, span.text + tries_digits, tries, 16);
    if (error == std::errc() && end == span.text + tries_digits) put_tries(tries, ends);
  }
  return ends;
}

std::string unix_listener(const span_record& span) {
  std::array<char, sizeof span.subject + sizeof span.detail + sizeof span.text> bytes{};
  char* const after_subject =
      std::copy_n(reinterpret_cast<const char*>(&span.subject), sizeof span.subject, bytes.data());
  char* const after_detail =
      std::copy_n(reinterpret_cast<const char*>(&span.detail), sizeof span.detail, after_subject);
  std::copy_n(span.text, sizeof span.text, after_detail);
  const std::size_t length = strnlen(bytes.data(), bytes.size());
  return fmt::format("unix {}{}", std::string_view(bytes.data(), length),
                     length == bytes.size() ? "…" : "");
}

extern const std::span<const SpanKind> tcp_kinds;
const std::span<const SpanKind> tcp_kinds = connection_kinds;

}  // namespace overdue
