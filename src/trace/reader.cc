#include "trace/reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "trace/format.h"

namespace overdue {
namespace {

using trace_format::ChunkType;

constexpr std::size_t max_schemas = 1024;
constexpr std::uint32_t max_schema_payload = 1U << 20;

// A chunk kept for later: the last INFO counts, and only the end of the file shows which is last.
struct SavedChunk {
  std::uint64_t offset;
  ChunkHeader header;
  Bytes stored;
};

SavedChunk save(const ChunkScanner::Chunk& chunk) {
  return {chunk.offset, chunk.header, Bytes(chunk.stored.begin(), chunk.stored.end())};
}

Damage payload_damage(std::uint64_t offset, const ChunkHeader& header, std::string what) {
  return {offset, trace_format::chunk_header_size + header.stored_size, std::move(what)};
}

bool is_known(const ChunkHeader& header) {
  return header.type >= static_cast<std::uint16_t>(ChunkType::info) &&
         header.type <= static_cast<std::uint16_t>(ChunkType::end) &&
         (header.flags & ~trace_format::flag_zstd) == 0;
}

std::string plural(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string unknown_note(const std::map<std::uint16_t, std::uint64_t>& unknown) {
  constexpr std::size_t max_listed = 8;
  std::uint64_t records = 0;
  std::string kinds;
  std::size_t listed = 0;
  for (const auto& [kind, count] : unknown) {
    records += count;
    if (listed++ < max_listed) kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", kind);
  }
  if (listed > max_listed) kinds += ", …";
  return fmt::format("{} of kinds this version does not know ({}) skipped",
                     plural(records, "record"), kinds);
}

}  // namespace

TraceReader::TraceReader(Fd file, std::span<const Schema* const> known, std::string_view name)
    : source_(std::move(file), printable(name), trace_format::magic),
      known_(known.begin(), known.end()),
      name_(printable(name)) {
  check_file_header();
  scan();
}

TraceReader::TraceReader(std::span<const std::byte> bytes, std::span<const Schema* const> known)
    : source_(bytes), known_(known.begin(), known.end()), name_("the recording") {
  check_file_header();
  scan();
}

void TraceReader::check_file_header() {
  if (source_.size() == 0)
    throw Error("cannot open {}: it is empty", name_)
        .hint("the recorder was stopped before it began, or the file is not a recording");
  std::array<std::byte, trace_format::file_header_size> bytes{};
  const std::size_t there = source_.read(0, bytes);
  const std::size_t comparable = std::min(there, trace_format::magic.size());
  const bool has_magic = std::memcmp(bytes.data(), trace_format::magic.data(), comparable) == 0;
  if (there < bytes.size() && has_magic) {
    header_cut_ = true;
    return;
  }
  if (const auto header = there == bytes.size() ? FileHeader::decode(bytes) : std::nullopt) {
    if (header->major == trace_format::major_version) return;
    throw Error("cannot open {}: it is written in trace format {}.{}; this version reads format {}",
                name_, header->major, header->minor, trace_format::major_version)
        .hint("use the version of overdue that wrote it, or a newer one");
  }
  std::array<std::byte, trace_format::chunk_header_size> chunk{};
  const bool has_chunk =
      source_.read(bytes.size(), chunk) == chunk.size() && ChunkHeader::decode(chunk).has_value();
  if (!has_magic && !has_chunk)
    throw Error("cannot open {}: it is not an overdue recording", name_)
        .hint("`overdue record -o FILE` writes one");
  open_damage_.push_back({0, bytes.size(), "file header damaged"});
}

void TraceReader::scan() {
  ChunkScanner scanner(source_);
  std::optional<SavedChunk> first_info;
  std::optional<SavedChunk> last_info;
  std::optional<SavedChunk> receipt;
  while (const auto chunk = scanner.next()) {
    if (!is_known(chunk->header)) {
      ++skipped_chunks_;
      skipped_records_ += chunk->header.record_count;
    } else if (chunk->header.is(ChunkType::schema)) {
      add_schema(*chunk);
    } else if (chunk->header.is(ChunkType::info)) {
      (first_info ? last_info : first_info) = save(*chunk);
    } else if (chunk->header.is(ChunkType::receipt)) {
      receipt = save(*chunk);
    } else if (chunk->header.is(ChunkType::records)) {
      records_found_ += chunk->header.record_count;
    }
  }
  saw_end_ = scanner.saw_end();
  records_damaged_ = scanner.records_damaged();
  records_cut_ = scanner.records_cut();
  open_damage_.insert(open_damage_.end(), scanner.damage().begin(), scanner.damage().end());
  bool has_info = false;
  for (const auto& saved : {std::move(last_info), std::move(first_info)}) {
    if (has_info || !saved) continue;
    const auto raw = unpack(saved->header, saved->offset, saved->stored, open_damage_);
    if (raw) info_ = decode_info(*raw);
    has_info = raw.has_value();
  }
  if (receipt) {
    const auto raw = unpack(receipt->header, receipt->offset, receipt->stored, open_damage_);
    if (raw) receipt_ = decode_receipt(*raw);
  }
  choose_schemas();
  std::sort(open_damage_.begin(), open_damage_.end(),
            [](const Damage& a, const Damage& b) { return a.offset < b.offset; });
  if (!has_info)
    info_.notes.emplace_back(
        "what was measured is not known: that part of the recording is missing");
  note_state(scanner);
}

void TraceReader::add_schema(const ChunkScanner::Chunk& chunk) {
  if (file_schemas_.size() >= max_schemas || chunk.header.raw_size > max_schema_payload) {
    add_damage(open_damage_, payload_damage(chunk.offset, chunk.header, "schema refused"));
    return;
  }
  const auto raw = unpack(chunk.header, chunk.offset, chunk.stored, open_damage_);
  if (!raw) return;
  auto schema = OwnedSchema::decode(*raw);
  if (!schema) {
    add_damage(open_damage_,
               payload_damage(chunk.offset, chunk.header, "schema describes no record"));
    return;
  }
  file_schemas_.try_emplace(schema->schema().id, std::move(schema));
}

void TraceReader::choose_schemas() {
  for (const Schema* schema : known_) kinds_[schema->id] = {schema, 0};
  for (const auto& [id, owned] : file_schemas_) {
    const Schema& schema = owned->schema();
    const auto known = kinds_.find(id);
    // The same id with another name is another kind of record, which our code cannot read.
    if (known != kinds_.end() && known->second.schema->name == schema.name)
      known->second.fixed_size = schema.size;
    else
      kinds_[id] = {&schema, 0};
  }
}

void TraceReader::note_state(const ChunkScanner& scanner) {
  const std::uint64_t cut_bytes = header_cut_ ? source_.size() : scanner.cut_bytes();
  if (!complete() || (!saw_end_ && open_damage_.empty())) {
    std::string note = "the recording was cut short (kill -9, full disk?)";
    if (cut_bytes > 0) note += fmt::format("; {} at the end unreadable", plural(cut_bytes, "byte"));
    info_.notes.push_back(std::move(note));
  } else if (!receipt_) {
    info_.notes.emplace_back(
        "the receipt of the recording is missing: what was lost while measuring is not known");
  }
  if (!open_damage_.empty())
    info_.notes.push_back(
        fmt::format("the recording is damaged in {}, first at byte {} ({}); {} lost by that",
                    plural(open_damage_.size(), "place"), open_damage_[0].offset,
                    open_damage_[0].what, plural(records_damaged_, "record")));
  if (skipped_chunks_ > 0)
    info_.notes.push_back(fmt::format("{} of kinds this version does not know, with {}, skipped",
                                      plural(skipped_chunks_, "part"),
                                      plural(skipped_records_, "record")));
}

std::optional<std::span<const std::byte>> TraceReader::unpack(const ChunkHeader& header,
                                                              std::uint64_t offset,
                                                              std::span<const std::byte> stored,
                                                              std::vector<Damage>& damage) {
  auto raw = unpacker_.unpack(header, stored);
  if (!raw) add_damage(damage, payload_damage(offset, header, "payload cannot be decompressed"));
  return raw;
}

std::vector<Damage> TraceReader::damage() const {
  std::vector<Damage> all = open_damage_;
  all.insert(all.end(), replay_damage_.begin(), replay_damage_.end());
  std::sort(all.begin(), all.end(),
            [](const Damage& a, const Damage& b) { return a.offset < b.offset; });
  return all;
}

void TraceReader::replay(Sink& sink) {
  sink.begin(info_);
  Replay state;
  ChunkScanner scanner(source_);
  while (const auto chunk = scanner.next())
    if (is_known(chunk->header) && chunk->header.is(ChunkType::records))
      replay_chunk(*chunk, sink, state);
  note_changes(scanner, state);
  replay_damage_ = state.damage;
  sink.end(final_info(state), final_receipt(state));
}

// The file was verified when it was opened. If another process overwrites or truncates it later,
// the damage must be reported.
void TraceReader::note_changes(const ChunkScanner& scanner, Replay& state) const {
  if (records_found_ > state.found) state.damaged += records_found_ - state.found;
  for (const Damage& damage : scanner.damage()) {
    const bool known = std::ranges::any_of(open_damage_, [&](const Damage& before) {
      return before.offset == damage.offset && before.bytes == damage.bytes;
    });
    if (!known) add_damage(state.damage, damage);
  }
  state.changed = state.found != records_found_ || scanner.saw_end() != saw_end_;
}

void TraceReader::replay_chunk(const ChunkScanner::Chunk& chunk, Sink& sink, Replay& state) {
  state.found += chunk.header.record_count;
  const auto raw = unpack(chunk.header, chunk.offset, chunk.stored, state.damage);
  std::span<const std::byte> rest = raw.value_or(std::span<const std::byte>{});
  std::uint64_t read = 0;
  while (rest.size() >= trace_format::record_header_size) {
    const auto size = get<std::uint16_t>(rest, trace_format::record_size_offset);
    if (size < trace_format::record_header_size || size > rest.size()) break;
    const auto kind_id = get<std::uint16_t>(rest, trace_format::record_kind_offset);
    const auto kind = kinds_.find(kind_id);
    if (kind == kinds_.end()) {
      ++state.unknown[kind_id];
    } else if (deliver(rest.first(size), kind->second, sink)) {
      ++state.delivered;
      state.last_time_ns = std::max(state.last_time_ns, get<std::uint64_t>(rest));
    } else {
      ++state.damaged;
    }
    ++read;
    rest = rest.subspan(size);
  }
  if (raw && !rest.empty())
    add_damage(state.damage,
               payload_damage(chunk.offset, chunk.header, "record overruns its chunk"));
  if (read < chunk.header.record_count) state.damaged += chunk.header.record_count - read;
}

// Resizes the fixed part of a record to the size in our schema, so that the tail begins at the
// offset that our code expects. False if the result would be longer than a record can be.
bool TraceReader::deliver(std::span<const std::byte> bytes, const Kind& kind, Sink& sink) {
  const std::size_t in_file = kind.fixed_size ? kind.fixed_size : kind.schema->size;
  const std::size_t here = kind.schema->size;
  const std::size_t fixed = std::min(bytes.size(), in_file);
  const auto tail = bytes.subspan(fixed);
  const bool fits = in_file == here || (fixed <= here && tail.empty());
  if (fits) {
    sink.record({kind.schema, bytes});
    return true;
  }
  if (here + tail.size() > trace_format::max_record_size) return false;
  adapted_.assign(here + tail.size(), std::byte{0});
  std::copy_n(bytes.begin(), std::min(fixed, here), adapted_.begin());
  std::copy(tail.begin(), tail.end(), adapted_.begin() + static_cast<std::ptrdiff_t>(here));
  store(std::span(adapted_).subspan(trace_format::record_size_offset),
        static_cast<std::uint16_t>(adapted_.size()));
  sink.record({kind.schema, adapted_});
  return true;
}

SessionInfo TraceReader::final_info(const Replay& state) const {
  SessionInfo info = info_;
  const std::uint64_t start_ns = info.start.time_since_epoch().count();
  if (!receipt_ && info.duration == Duration{} && state.last_time_ns > start_ns)
    info.duration = Duration(state.last_time_ns - start_ns);
  if (!state.damage.empty())
    info.notes.push_back(fmt::format(
        "{} of the recording could not be decoded, first at byte {} ({})",
        plural(state.damage.size(), "chunk"), state.damage[0].offset, state.damage[0].what));
  if (state.changed) info.notes.emplace_back("the recording changed while it was read");
  if (!state.unknown.empty()) info.notes.push_back(unknown_note(state.unknown));
  return info;
}

Receipt TraceReader::final_receipt(const Replay& state) const {
  Receipt receipt = receipt_.value_or(Receipt{});
  if (!receipt_) receipt.events = state.delivered;
  std::uint64_t unknown = skipped_records_;
  for (const auto& [kind, count] : state.unknown) unknown += count;
  if (unknown > 0) receipt.lost_by["unknown_kind"] += unknown;
  if (const std::uint64_t damaged = records_damaged_ + state.damaged; damaged > 0)
    receipt.lost_by["file_damaged"] += damaged;
  if (!complete()) receipt.lost_by["file_cut"] += std::max<std::uint64_t>(records_cut_, 1);
  return receipt;
}

}  // namespace overdue
