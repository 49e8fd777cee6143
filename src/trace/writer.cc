#include "trace/writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "trace/codec.h"

namespace overdue {
namespace {

constexpr std::size_t chunk_target = 256U << 10;

void wait_writable(int fd) {
  pollfd waiting{fd, POLLOUT, 0};
  ::poll(&waiting, 1, -1);
}

}  // namespace

TraceWriter::TraceWriter(Fd file, std::span<const Schema* const> schemas, std::string_view name)
    : file_(std::move(file)), schemas_(schemas.begin(), schemas.end()), name_(printable(name)) {
  records_.reserve(chunk_target + trace_format::max_record_size);
}

void TraceWriter::begin(const SessionInfo& info) {
  begun_ = true;
  const auto header = FileHeader{}.encode();
  out_.insert(out_.end(), header.begin(), header.end());
  put_schemas();
  put_chunk(trace_format::ChunkType::info, encode_info(info));
  write_out();
}

void TraceWriter::record(const Record& record) {
  const auto bytes = record.bytes;
  const std::size_t size = bytes.size() >= trace_format::record_header_size
                               ? get<std::uint16_t>(bytes, trace_format::record_size_offset)
                               : 0;
  if (size < trace_format::record_header_size || size > bytes.size())
    throw Error("cannot write {}: a record of {} bytes says it has {}", name_, bytes.size(), size);
  records_.insert(records_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  ++record_count_;
  if (records_.size() >= chunk_target) flush();
}

void TraceWriter::flush() {
  put_records();
  write_out();
}

void TraceWriter::end(const SessionInfo& info, const Receipt& receipt) {
  if (!begun_) begin(info);
  put_records();
  put_schemas();
  put_chunk(trace_format::ChunkType::info, encode_info(info));
  put_chunk(trace_format::ChunkType::receipt, encode_receipt(receipt));
  put_chunk(trace_format::ChunkType::end, {});
  write_out();
  if (const int code = file_.close()) fail(code);
}

void TraceWriter::put_schemas() {
  for (const Schema* schema : schemas_)
    put_chunk(trace_format::ChunkType::schema, encode_schema(*schema));
}

void TraceWriter::put_records() {
  if (record_count_ == 0) return;
  put_chunk(trace_format::ChunkType::records, records_, record_count_);
  records_before_ += record_count_;
  record_count_ = 0;
  records_.clear();
}

void TraceWriter::put_chunk(trace_format::ChunkType type, std::span<const std::byte> raw,
                            std::uint32_t record_count) {
  ChunkHeader header;
  header.type = static_cast<std::uint16_t>(type);
  header.sequence = sequence_++;
  header.record_count = record_count;
  header.records_before = records_before_;
  const auto stored = packer_.pack(raw, header);
  const auto encoded = header.encode();
  out_.insert(out_.end(), encoded.begin(), encoded.end());
  out_.insert(out_.end(), stored.begin(), stored.end());
}

void TraceWriter::write_out() {
  if (failed_) throw Error("cannot write {}: an earlier write failed", name_);
  std::span<const std::byte> rest = out_;
  while (!rest.empty()) {
    const ssize_t n = ::write(file_.get(), rest.data(), rest.size());
    if (n >= 0) {
      rest = rest.subspan(static_cast<std::size_t>(n));
      bytes_written_ += static_cast<std::uint64_t>(n);
      continue;
    }
    const int code = errno;
    if (code == EINTR) continue;
    if (code == EAGAIN) {
      wait_writable(file_.get());
      continue;
    }
    fail(code);
  }
  out_.clear();
}

void TraceWriter::fail(int code) {
  failed_ = true;
  if (code == EPIPE) throw Error("cannot write {}: its reader has closed the pipe", name_);
  Error error("cannot write {}: {}", name_, errno_text(code));
  if (code != ENOSPC && code != EDQUOT) throw error;
  throw std::move(error).hint(
      "free some space; what was written so far can be read by `overdue report`");
}

}  // namespace overdue
