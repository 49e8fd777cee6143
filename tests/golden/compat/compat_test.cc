// Files of released formats, read by today's reader. The expected text was checked by hand when the
// file was made; a change in it means that old recordings are read differently.
// OVERDUE_UPDATE_GOLDEN=1 rewrites it.

#include <fcntl.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "core/sink.h"
#include "trace/coding.h"
#include "trace/reader.h"

namespace overdue {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::string value_of(std::span<const std::byte> bytes) {
  if (bytes.size() == 8) return fmt::to_string(get<std::uint64_t>(bytes));
  if (bytes.size() == 4) return fmt::to_string(get<std::uint32_t>(bytes));
  if (bytes.size() == 2) return fmt::to_string(get<std::uint16_t>(bytes));
  if (bytes.size() <= 48) return hex(bytes);
  std::string nonzero;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != std::byte{0})
      nonzero += fmt::format(" {}:{:02x}", i, static_cast<unsigned>(bytes[i]));
  return fmt::format("[{} bytes{}]", bytes.size(), nonzero);
}

std::string info_text(const SessionInfo& info) {
  std::string text = fmt::format(
      "version {}\ncommand {}\nhost {}\nkernel {}\narch {}\ncpus {}\nstart_wall {}\nstart "
      "{}\nduration {}\n"
      "backend {}\ntarget {} follows {} cpus {}\n",
      info.version, info.command, printable(info.host), info.kernel, info.arch, info.cpus,
      info.start_wall.time_since_epoch().count(), info.start.time_since_epoch().count(),
      info.duration.count(), info.backend, info.target.kind, info.target.follows_children,
      info.target.cpus);
  for (const auto& value : info.target.values) text += fmt::format("target value '{}'\n", value);
  for (const auto pid : info.target.pids) text += fmt::format("target pid {}\n", pid);
  for (const auto& [key, name] : info.names.syscalls)
    text += fmt::format("syscall {} {} {}\n", key.first, key.second, name);
  for (const auto& [id, path] : info.names.cgroups)
    text += fmt::format("cgroup {} {}\n", id, printable(path));
  for (const auto& note : info.notes) text += fmt::format("note {}\n", note);
  return text;
}

/// The complete output of the reader, as text.
class DumpSink final : public Sink {
 public:
  void begin(const SessionInfo& info) override { text += "begin\n" + info_text(info); }
  void record(const Record& record) override {
    const event_header header = record.header();
    text +=
        fmt::format("record {} kind {} size {} time {} pid {} tid {} cpu {} cgroup {} comm {}\n",
                    record.schema->name, header.kind, header.size, header.time_ns, header.pid,
                    header.tid, header.cpu, header.cgroup_id, printable(fixed_text(header.comm)));
    for (const Field& field : record.schema->fields)
      text += fmt::format("  {} {} unit {} role {} ({})\n", field.name,
                          value_of(record.bytes.subspan(field.offset, field.size)),
                          static_cast<int>(field.unit), static_cast<int>(field.role), field.help);
    if (const auto tail = record.bytes.subspan(record.schema->size); !tail.empty())
      text += fmt::format("  tail {}\n", hex(tail));
  }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    text += "end\n" + info_text(info);
    text +=
        fmt::format("events {} unmatched {} cut {} probe_runs {} probe_ns {} target_cpu_ns {}\n",
                    receipt.events, receipt.unmatched, receipt.cut, receipt.probe_runs,
                    receipt.probe_ns.value_or(0),
                    receipt.target_cpu_ns ? fmt::to_string(*receipt.target_cpu_ns) : "unknown");
    for (const auto& [reason, count] : receipt.lost_by)
      text += fmt::format("lost {} {}\n", reason, count);
  }
  std::string text;
};

TEST(Compat, Format1IsReadAsOnTheDayItWasWritten) {
  const std::string directory = COMPAT_DIRECTORY;
  TraceReader reader(Fd(::open((directory + "/format-1.odt").c_str(), O_RDONLY | O_CLOEXEC)), {},
                     "format-1.odt");
  EXPECT_TRUE(reader.complete());
  EXPECT_TRUE(reader.damage().empty());
  DumpSink sink;
  reader.replay(sink);
  const std::string expected_path = directory + "/format-1.expected";
  if (std::getenv("OVERDUE_UPDATE_GOLDEN")) std::ofstream(expected_path) << sink.text;
  std::ifstream file(expected_path);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(sink.text, expected);
}

}  // namespace
}  // namespace overdue
