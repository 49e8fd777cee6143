#include "analysis/call_object.h"

#include <sys/socket.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/ip_text.h"

namespace overdue {
namespace {

constexpr std::uint16_t protocol_tcp = 6, protocol_udp = 17;

std::string_view path_bytes(const call_object& raw) {
  return {raw.path, std::min<std::size_t>(raw.path_size, sizeof raw.path)};
}

/// The parts come innermost first.
std::string path_of(const call_object& raw) {
  std::vector<std::string_view> parts;
  std::string_view rest = path_bytes(raw);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    parts.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string path = raw.flags & OBJECT_PATH_CUT ? "…" : "";
  std::for_each(parts.rbegin(), parts.rend(), [&path](std::string_view part) {
    (path += '/') += part;
    if (part.size() == CALL_OBJECT_PART - 1) path += "…";  // it may be longer
  });
  return path.empty() ? "/" : path;
}

std::string file_text(const call_object& raw) {
  return path_of(raw) + (raw.flags & OBJECT_DELETED ? " (deleted)" : "");
}

/// "[eventfd]": such a file has a name, but no path.
std::string internal_text(const call_object& raw) {
  const std::string_view bytes = path_bytes(raw);
  const std::string_view name = bytes.substr(0, bytes.find('\0'));
  return name.empty() ? fmt::format("inode {}", raw.inode) : std::string(name);
}

std::string unix_text(const call_object& raw) {
  std::string_view name = path_bytes(raw);
  if (name.starts_with('\0')) return fmt::format("unix @{}", name.substr(1));
  name = name.substr(0, name.find('\0'));
  return name.empty() ? fmt::format("unix {}", raw.inode) : fmt::format("unix {}", name);
}

void describe_ends(const call_object& raw, CallObject& object) {
  const bool is_ipv6 = raw.family == AF_INET6;
  object.local = endpoint_text(raw.local, is_ipv6, raw.local_port);
  if (raw.remote_port != 0) object.remote = endpoint_text(raw.remote, is_ipv6, raw.remote_port);
  const std::string protocol = raw.protocol == protocol_tcp   ? "tcp"
                               : raw.protocol == protocol_udp ? "udp"
                                                              : fmt::format("ip {}", raw.protocol);
  object.text = fmt::format("{} {}{}", protocol, object.local,
                            object.remote.empty() ? "" : "->" + object.remote);
}

std::string_view side_of(const call_object& raw) {
  if (raw.flags & OBJECT_IS_LISTENER) return "listener";
  if (raw.flags & OBJECT_IS_SERVER) return "server";
  return raw.flags & OBJECT_IS_CLIENT ? "client" : "";
}

/// Data that was sent again before the operation began explains nothing of it.
void leave_out_earlier_resends(CallObject& object, std::uint64_t latency_ns) {
  const std::uint64_t written_ns = object.written_ns.value_or(0);
  const std::uint64_t since_last_ns =
      written_ns > object.resent_ns ? written_ns - object.resent_ns : 0;
  const std::uint64_t within_ns = latency_ns > since_last_ns ? latency_ns - since_last_ns : 0;
  object.resent_ns = std::min(object.resent_ns, within_ns);
  if (within_ns == 0) object.resends = 0;
}

}  // namespace

CallObject call_object_of(const call_object& raw) {
  CallObject object;
  switch (raw.object) {
    case OBJECT_FILE:
      object.kind = "file";
      object.text = file_text(raw);
      break;
    case OBJECT_PIPE:
      object.kind = "pipe";
      object.text = raw.path_size > 0 ? file_text(raw) : fmt::format("pipe {}", raw.inode);
      break;
    case OBJECT_SOCKET:
      object.kind = "socket";
      describe_ends(raw, object);
      break;
    case OBJECT_UNIX:
      object.kind = "unix";
      object.text = unix_text(raw);
      break;
    default:
      object.kind = "other";
      object.text = internal_text(raw);
  }
  object.side = side_of(raw);
  if (raw.flags & OBJECT_HAS_WRITTEN) {
    object.written_ns = raw.written_ns;
    object.received_ns = raw.received_ns;
    object.resends = raw.resends;
    object.resent_ns = raw.resent_ns;
  }
  return object;
}

void add_object(Finding& finding, const call_object& raw) {
  finding.object.emplace(call_object_of(raw));
  leave_out_earlier_resends(*finding.object, finding.latency_ns);
  const std::size_t index = raw.argument & ~CALL_OBJECT_IN_POLL;
  if (index >= finding.arguments.size()) return;
  std::string& argument = finding.arguments[index];
  if (raw.argument & CALL_OBJECT_IN_POLL)
    argument = fmt::format("fds=[{}<{}>]", raw.fd, finding.object->text);
  else
    argument += fmt::format("<{}>", finding.object->text);
}

}  // namespace overdue
