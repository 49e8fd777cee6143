#include "flame/pprof.h"

#include <zlib.h>

#include <limits>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/xml_text.h"

namespace overdue {
namespace {

// Numbers of fields in profile.proto.
enum ProfileField : unsigned {
  profile_sample_type = 1,
  profile_sample = 2,
  profile_mapping = 3,
  profile_location = 4,
  profile_function = 5,
  profile_string_table = 6,
  profile_comment = 13,
};
enum ValueTypeField : unsigned { value_type_type = 1, value_type_unit = 2 };
enum SampleField : unsigned { sample_location_id = 1, sample_value = 2, sample_label = 3 };
enum LabelField : unsigned { label_key = 1, label_str = 2 };
enum MappingField : unsigned { mapping_id = 1, mapping_filename = 5, mapping_has_functions = 7 };
enum LocationField : unsigned { location_id = 1, location_mapping_id = 2, location_line = 4 };
enum LineField : unsigned { line_function_id = 1 };
enum FunctionField : unsigned { function_id = 1, function_name = 2, function_system_name = 3 };

/// Writes one message of Protocol Buffers.
class Message {
 public:
  Message& number(unsigned field, std::uint64_t value) {
    varint(field << 3U);
    varint(value);
    return *this;
  }
  Message& bytes(unsigned field, std::string_view value) {
    varint(field << 3U | 2U);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& message(unsigned field, const Message& value) { return bytes(field, value.text_); }
  /// A value alone: an element of a packed field.
  Message& varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_ += static_cast<char>(value | 0x80U);
    text_ += static_cast<char>(value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct SampleType {
  std::string_view type, unit;
};
SampleType sample_type_of(WeightUnit unit) {
  if (unit == WeightUnit::microseconds) return {"time", "microseconds"};
  return unit == WeightUnit::bytes ? SampleType{"space", "bytes"} : SampleType{"samples", "count"};
}

class PprofExport {
 public:
  explicit PprofExport(const StackTree& tree) : tree_(tree) {
    string_number("");  // the format wants it first
    const SampleType type = sample_type_of(tree.unit());
    whole_.message(profile_sample_type, Message()
                                            .number(value_type_type, string_number(type.type))
                                            .number(value_type_unit, string_number(type.unit)));
    // The first mapping is the program's; without it, pprof would call the program "[kernel]".
    for (const std::uint64_t mapping : {program_mapping, kernel_mapping})
      whole_.message(
          profile_mapping,
          Message()
              .number(mapping_id, mapping)
              .number(mapping_filename, string_number(mapping == kernel_mapping ? "[kernel]" : ""))
              .number(mapping_has_functions, 1));
    tree.visit_stacks(
        [this](std::span<const StackTree::Id> path, std::uint64_t weight) { add(path, weight); });
  }

  void comment(std::string_view text) { whole_.number(profile_comment, string_number(text)); }

  /// The profile. The strings are last, when all are known.
  std::string take() {
    for (const std::string_view text : strings_) whole_.bytes(profile_string_table, visible(text));
    return whole_.text();
  }

 private:
  static constexpr std::uint64_t program_mapping = 1, kernel_mapping = 2;
  using Function = std::pair<std::string_view, bool>;  ///< name, whether it is of the kernel

  /// `text` is of the tree, or lives as long.
  std::uint64_t string_number(std::string_view text) {
    const auto [place, is_new] = string_numbers_.try_emplace(text, strings_.size());
    if (is_new) strings_.push_back(text);
    return place->second;
  }

  void add(std::span<const StackTree::Id> path, std::uint64_t weight) {
    const bool has_thread = !path.empty() && tree_.node(path[0]).kind == FrameKind::thread;
    Message made;
    // Innermost first. A thread without frames is its own frame: an empty sample would not show.
    Message locations;
    const std::size_t outermost = has_thread && path.size() > 1 ? 1 : 0;
    for (std::size_t i = path.size(); i > outermost; --i)
      locations.varint(location_number(path[i - 1]));
    made.bytes(sample_location_id, locations.text());
    made.bytes(sample_value, Message().varint(weight).text());
    if (has_thread)
      made.message(sample_label, Message()
                                     .number(label_key, string_number("thread"))
                                     .number(label_str, string_number(tree_.name(path[0]))));
    whole_.message(profile_sample, made);
  }

  /// A location, and the function of the same number, for each name.
  std::uint64_t location_number(StackTree::Id id) {
    const bool is_kernel = tree_.node(id).kind == FrameKind::kernel;
    const auto [place, is_new] =
        locations_.try_emplace(Function(tree_.name(id), is_kernel), locations_.size() + 1);
    if (!is_new) return place->second;
    const std::uint64_t number = place->second, name = string_number(tree_.name(id));
    whole_.message(profile_function, Message()
                                         .number(function_id, number)
                                         .number(function_name, name)
                                         .number(function_system_name, name));
    whole_.message(profile_location,
                   Message()
                       .number(location_id, number)
                       .number(location_mapping_id, is_kernel ? kernel_mapping : program_mapping)
                       .message(location_line, Message().number(line_function_id, number)));
    return number;
  }

  const StackTree& tree_;
  Message whole_;
  std::vector<std::string_view> strings_;
  std::map<std::string_view, std::uint64_t> string_numbers_;
  std::map<Function, std::uint64_t> locations_;
};

std::string compressed(std::string_view text) {
  constexpr int gzip = 15 + 16;  // the largest window, and the header of gzip
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("cannot compress the profile");
  std::string result;
  char buffer[64 << 10];
  int state = Z_OK;
  while (state == Z_OK) {
    // The length of a piece is 32 bits.
    const std::string_view piece = text.substr(0, 1 << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    state = deflate(&stream, piece.size() == text.size() ? Z_FINISH : Z_NO_FLUSH);
    text.remove_prefix(piece.size() - stream.avail_in);
    result.append(buffer, sizeof buffer - stream.avail_out);
  }
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw Error("cannot compress the profile");
  return result;
}

}  // namespace

std::string pprof_gzip(const StackTree& tree, std::string_view title, std::string_view footer) {
  if (tree.total() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw Error("the weights add up to {}, and pprof holds less than 2^63", tree.total());
  PprofExport made(tree);
  made.comment(title);
  for (const std::string_view text : split(footer, '\n')) made.comment(text);
  const std::vector<std::string> notes = limit_notes(tree);
  for (const std::string& note : notes) made.comment(note);
  return compressed(made.take());
}

}  // namespace overdue
