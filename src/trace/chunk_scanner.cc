#include "trace/chunk_scanner.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace overdue {
namespace {

constexpr std::size_t max_damage_entries = 1000;
constexpr std::size_t search_window = 64U << 10;

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

}  // namespace

void add_damage(std::vector<Damage>& list, Damage damage) {
  if (list.size() < max_damage_entries) {
    list.push_back(std::move(damage));
    return;
  }
  Damage& last = list.back();
  last.bytes = std::max(last.offset + last.bytes, damage.offset + damage.bytes) - last.offset;
  last.what = "many places";
}

std::optional<ChunkScanner::Chunk> ChunkScanner::next() {
  while (!finished_) {
    const std::uint64_t offset = position_;
    if (saw_end_ || offset >= source_.size()) {
      finish();
      break;
    }
    const auto header = header_at(offset);
    if (!header) {
      skip_unreadable_header();
      continue;
    }
    const std::uint64_t payload = offset + trace_format::chunk_header_size;
    const std::uint64_t records_end = saturating_add(header->records_before, header->record_count);
    if (header->stored_size > source_.size() - payload) {
      // The file is cut off, unless bytes are missing in the middle and good chunks follow.
      position_ = find_mark(payload);
      if (position_ < source_.size()) {
        add_damage(damage_, {offset, position_ - offset, "chunk incomplete"});
      } else {
        cut_bytes_ = source_.size() - offset;
        records_cut_ = header->record_count;
        records_known_end_ = std::max(records_known_end_, header->records_before);
      }
      continue;
    }
    position_ = payload + header->stored_size;
    if (last_sequence_ && header->sequence <= *last_sequence_) {
      add_damage(damage_, {offset, position_ - offset, "chunk out of order"});
      continue;
    }
    stored_.resize(header->stored_size);
    const std::size_t there = source_.read(payload, stored_);
    if (there < stored_.size() || trace_check(stored_) != header->payload_check) {
      add_damage(damage_, {offset, position_ - offset, "payload damaged"});
      records_known_end_ = std::max(records_known_end_, records_end);
      continue;
    }
    accept(*header);
    return Chunk{offset, *header, stored_};
  }
  return std::nullopt;
}

std::optional<ChunkHeader> ChunkScanner::header_at(std::uint64_t offset) const {
  std::array<std::byte, trace_format::chunk_header_size> bytes;
  if (source_.read(offset, bytes) < bytes.size()) return std::nullopt;
  return ChunkHeader::decode(bytes);
}

// The offset of the next good chunk header at or after `from`; the size of the file if there is
// none.
std::uint64_t ChunkScanner::find_mark(std::uint64_t from) const {
  std::array<std::byte, trace_format::chunk_mark.size()> mark;
  std::memcpy(mark.data(), trace_format::chunk_mark.data(), mark.size());
  Bytes window(search_window);
  while (from < source_.size()) {
    const std::size_t size = source_.read(from, window);
    if (size < trace_format::chunk_header_size) break;
    const auto end = window.begin() + static_cast<std::ptrdiff_t>(size);
    for (auto at = window.begin(); (at = std::search(at, end, mark.begin(), mark.end())) != end;
         ++at) {
      const auto index = static_cast<std::size_t>(at - window.begin());
      const bool whole = size - index >= trace_format::chunk_header_size;
      const auto header =
          whole ? ChunkHeader::decode(
                      std::span(window).subspan(index).first<trace_format::chunk_header_size>())
                : header_at(from + index);
      if (header) return from + index;
    }
    from += size - (mark.size() - 1);  // a mark may span two windows
  }
  return source_.size();
}

void ChunkScanner::skip_unreadable_header() {
  const std::uint64_t offset = position_;
  position_ = find_mark(offset + 1);
  const std::uint64_t bytes = position_ - offset;
  // Fewer bytes than a header at the end of the file are the beginning of a cut chunk.
  if (position_ >= source_.size() && bytes < trace_format::chunk_header_size)
    cut_bytes_ = bytes;
  else
    add_damage(damage_, {offset, bytes, "chunk header unreadable"});
}

void ChunkScanner::accept(const ChunkHeader& header) {
  last_sequence_ = header.sequence;
  if (header.records_before > records_seen_end_)
    records_damaged_ = saturating_add(records_damaged_, header.records_before - records_seen_end_);
  records_seen_end_ = saturating_add(header.records_before, header.record_count);
  records_known_end_ = std::max(records_known_end_, records_seen_end_);
  saw_end_ = header.is(trace_format::ChunkType::end);
}

void ChunkScanner::finish() {
  finished_ = true;
  if (records_known_end_ > records_seen_end_)
    records_damaged_ = saturating_add(records_damaged_, records_known_end_ - records_seen_end_);
  if (saw_end_ && position_ < source_.size())
    add_damage(damage_,
               {position_, source_.size() - position_, "bytes behind the end of the recording"});
}

}  // namespace overdue
