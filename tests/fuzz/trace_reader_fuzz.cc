// Any bytes, read as a trace file: no crash, no leak, no record outside its bounds, no damage
// outside the file. The records are then shown as by `overdue report`, in some view and format: the
// output is harmless on a terminal, and lines of NDJSON are JSON.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "core/probe.h"
#include "core/record.h"
#include "core/span_kinds.h"
#include "report/replay.h"
#include "report/spans/replay.h"
#include "report/stalls/replay.h"
#include "report/syscalls/replay.h"
#include "sinks/make_sink.h"
#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/test_support.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace overdue {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// Touches every byte of every record, so that the sanitizers see a bad view.
class TouchingSink final : public Sink {
 public:
  void begin(const SessionInfo& info) override { touch(info); }
  void record(const Record& record) override {
    require(record.schema != nullptr);
    require(record.bytes.size() >= sizeof(event_header));
    require(record.header().size == record.bytes.size());
    require(record.header().kind == record.schema->id);
    for (const std::byte byte : record.bytes) sum_ += static_cast<std::uint64_t>(byte);
    touch(record.schema->name);
    for (const Field& field : record.schema->fields) {
      require(field.offset + field.size <= record.schema->size);
      require(field.unit <= Unit::opaque && field.role <= Role::stack);
      touch(field.name);
      touch(field.help);
    }
  }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    touch(info);
    sum_ += receipt.lost();
  }

 private:
  void touch(std::string_view text) {
    for (const char c : text) sum_ += static_cast<unsigned char>(c);
  }
  void touch(const SessionInfo& info) {
    touch(info.host);
    for (const auto& note : info.notes) touch(note);
    for (const auto& [id, path] : info.names.cgroups) touch(path);
  }
  volatile std::uint64_t sum_ = 0;
};

// Corrects the checks wherever a chunk header seems to be, so that mutations get past them.
void sign(std::span<std::byte> file) {
  if (file.size() < trace_format::file_header_size) return;
  const auto start = FileHeader{}.encode();
  std::copy(start.begin(), start.end(), file.begin());
  std::size_t at = trace_format::file_header_size;
  for (std::uint32_t sequence = 0; file.size() - at >= trace_format::chunk_header_size;
       ++sequence) {
    const auto head = file.subspan(at);
    ChunkHeader header;
    header.type = get<std::uint16_t>(head, 4);
    header.flags = get<std::uint16_t>(head, 6);
    header.stored_size = get<std::uint32_t>(head, 8);
    header.raw_size = get<std::uint32_t>(head, 12);
    header.record_count = get<std::uint32_t>(head, 20);
    header.records_before = get<std::uint64_t>(head, 24);
    header.sequence = sequence;
    const std::size_t room = head.size() - trace_format::chunk_header_size;
    header.stored_size =
        static_cast<std::uint32_t>(std::min<std::size_t>(header.stored_size, room));
    if (!(header.flags & trace_format::flag_zstd)) header.raw_size = header.stored_size;
    header.payload_check =
        trace_check(head.subspan(trace_format::chunk_header_size, header.stored_size));
    const auto encoded = header.encode();
    std::copy(encoded.begin(), encoded.end(), head.begin());
    at += trace_format::chunk_header_size + header.stored_size;
  }
}

void read(std::span<const std::byte> bytes, std::span<const Schema* const> known) {
  try {
    TraceReader reader(bytes, known);
    TouchingSink sink;
    reader.replay(sink);
    for (const Damage& damage : reader.damage()) {
      require(damage.offset <= bytes.size());
      require(damage.bytes <= bytes.size() - damage.offset);
    }
  } catch (const Error&) {
    // Refused: no recording, or of another format.
  }
}

ViewOptions view_options(unsigned choice) {
  ViewOptions options;
  switch (choice % 6) {
    case 0:
      options.calls = true;
      break;
    case 1:
      options.discover = true;
      break;
    case 2:
      options.histograms = true;
      break;
    case 3:
      options.by = {"process,thread,container"};
      options.sort = "p99";
      break;
    case 4:
      options.only = {"%file", "!open*"};
      options.top = 3;
      break;
    default:
      break;
  }
  return options;
}

void require_harmless(std::string_view text, bool lines_of_json) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = text[at] == '\n' ? 1 : printable_length(text.substr(at));
    require(length > 0);
    at += length;
  }
  if (!lines_of_json) return;
  for (const std::string_view line : split(text, '\n'))
    require(nlohmann::json::accept(line.begin(), line.end()));
}

void show(std::span<const std::byte> bytes, std::string_view format, const ViewOptions& options) {
  std::string text;
  try {
    const std::span<const Schema* const> known = all_probes()[0]->schemas;
    TraceReader reader(bytes, known);
    Output output(text);
    const auto sink = make_sink(format, output, {.color = false, .stream = true});
    SyscallView view(options, options.wanted(reader.info().names), *sink);
    SyscallReplay replay(view);
    reader.replay(replay);
    output.close();
  } catch (const Error&) {
    return;  // refused; or aggregates, which have no single calls
  }
  require_harmless(text, format == "ndjson");
}

void show_stalls(std::span<const std::byte> bytes, std::string_view format) {
  std::string text;
  try {
    const std::vector<const Schema*> known = all_schemas();
    TraceReader reader(bytes, known);
    Output output(text);
    const auto sink = make_sink(format, output, {.color = false, .stream = true});
    RecordedStacks stacks;
    StallView view({.idle = true, .first = 0}, stacks, *sink);
    StallReplay replay(view, stacks);
    reader.replay(replay);
    output.close();
  } catch (const Error&) {
    return;
  }
  require_harmless(text, format == "ndjson");
}

void show_spans(std::span<const std::byte> bytes, std::string_view format, bool by_thread) {
  std::string text;
  try {
    const std::vector<const Schema*> known = all_schemas();
    TraceReader reader(bytes, known);
    Output output(text);
    const auto sink = make_sink(format, output, {.color = false});
    SpanViewOptions options{.by_thread = by_thread, .histograms = true};
    for (const SpanKind* kind : span_kinds()) options.kinds.push_back(kind->number);
    RecordedStacks stacks;
    SpanView view(std::move(options), stacks, *sink);
    SpanReplay replay(view, stacks, "");
    reader.replay(replay);
    output.close();
  } catch (const Error&) {
    return;
  }
  require_harmless(text, format == "ndjson");
}

/// The report goes to standard output, which is a file in memory.
template <typename Replay>
void show_report(std::span<const std::byte> bytes, std::string_view format, const Replay& replay) {
  static const int file = memfd_create("report", MFD_CLOEXEC);
  static const bool is_output = dup2(file, STDOUT_FILENO) == STDOUT_FILENO;
  require(is_output && ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0);
  try {
    const std::vector<const Schema*> known = all_schemas();
    TraceReader reader(bytes, known);
    OutputOptions output;
    output.format = format;
    replay(reader, output);
  } catch (const Error&) {
    return;
  }
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  require(pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  require_harmless(text, format == "ndjson");
}

}  // namespace
}  // namespace overdue

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 4 != 0) overdue::sign(std::as_writable_bytes(std::span(data, size)));
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  overdue::read(bytes, {});
  overdue::read(bytes, overdue::trace_test::schemas);
  // Any choice will do, as long as mutations change it.
  unsigned choice = 0;
  for (const std::byte byte : bytes.last(std::min<std::size_t>(size, 256)))
    choice = choice * 31 + std::to_integer<unsigned>(byte);
  static constexpr std::array<std::string_view, 3> formats{"text", "ndjson", "csv"};
  const std::string_view format = formats[choice / 6 % formats.size()];
  overdue::show(bytes, format, overdue::view_options(choice));
  overdue::show_stalls(bytes, format == "csv" ? "text" : format);
  overdue::show_spans(bytes, format, choice % 2 == 0);
  static const std::array<std::string, 6> parts{"",           "timerlat", "osnoise",
                                                "app_timers", "worst",    "hwlat"};
  static constexpr std::array<const char*, 3> views{"summary", "hist", "trace"};
  using overdue::TraceReader, overdue::OutputOptions;
  overdue::show_report(bytes, format == "csv" ? "json" : format,
                       [&](TraceReader& reader, const OutputOptions& output) {
                         replay_report(reader, parts[choice % parts.size()],
                                       views[choice / 6 % views.size()], "", output);
                       });
  using overdue::Whose;
  static constexpr std::array<Whose, 5> words{Whose::process, Whose::thread, Whose::name,
                                              Whose::cgroup, Whose::parent};
  const bool is_folded = choice / 7 % 2 == 0;
  overdue::show_report(bytes, is_folded ? "folded" : format,
                       [&](TraceReader& reader, const OutputOptions& output) {
                         replay_profile(reader, {.by = words[choice % words.size()]}, output);
                       });
  return 0;
}
