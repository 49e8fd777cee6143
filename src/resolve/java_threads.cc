#include "resolve/java_threads.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "base/utf8.h"
#include "symbols/elf_values.h"
#include "symbols/load_segments.h"

namespace overdue {
namespace {

constexpr std::size_t entries_max = 8192, threads_max = 32'768, longest_name = 256;
constexpr int searches_max = 16;  // of objects whose layout is unknown

template <typename T>
T part_of(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof value)
    std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// ── the virtual machine's own description of its structs, made for debuggers ──

/// A member of a struct: its offset or, if it is static, its address.
class Members {
 public:
  /// Nothing is found in a library that does not describe itself.
  Members(const Mapping& mapping, const FileBytes& file, const ReadMemory& memory);

  /// 0 if the machine does not have the member.
  std::uint64_t offset(std::string_view name) const { return at(name, false); }
  std::uint64_t address(std::string_view name) const { return at(name, true); }

 private:
  struct Member {
    bool is_static = false;
    std::uint64_t at = 0;
  };

  std::uint64_t at(std::string_view name, bool is_static) const {
    const auto found = members_.find(name);
    return found == members_.end() || found->second.is_static != is_static ? 0 : found->second.at;
  }

  std::map<std::string, Member, std::less<>> members_;
};

std::string text_at(const ReadMemory& memory, std::uint64_t address) {
  std::array<char, 64> text{};
  if (address == 0 || !memory(address, std::as_writable_bytes(std::span(text)))) return {};
  return {text.data(), strnlen(text.data(), text.size())};
}

constexpr std::string_view table_name = "gHotSpotVMStructs",
                           stride_name = "gHotSpotVMStructEntryArrayStride",
                           type_name = "gHotSpotVMStructEntryTypeNameOffset",
                           field_name = "gHotSpotVMStructEntryFieldNameOffset",
                           static_name = "gHotSpotVMStructEntryIsStaticOffset",
                           offset_name = "gHotSpotVMStructEntryOffsetOffset",
                           address_name = "gHotSpotVMStructEntryAddressOffset";
constexpr std::array table_words = {table_name,  stride_name, type_name,   field_name,
                                    static_name, offset_name, address_name};

Members::Members(const Mapping& mapping, const FileBytes& file, const ReadMemory& memory) {
  constexpr std::size_t entry_max = 256;
  const auto image = ElfImage::read(file);
  if (!image) return;
  const auto mapped_at = LoadSegments(*image).address_of(mapping.file_offset);
  const auto values = elf_values(*image, table_words);
  if (!mapped_at || values.size() < table_words.size()) return;
  std::map<std::string_view, std::uint64_t> words;
  for (const std::string_view name : table_words) {
    const std::uint64_t at = values.find(name)->second.address + (mapping.start - *mapped_at);
    words[name] = value_at<std::uint64_t>(memory, at).value_or(0);
  }
  const std::uint64_t stride = words[stride_name];
  if (stride == 0 || stride > entry_max) return;
  std::vector<std::byte> entry(stride);
  for (std::uint64_t i = 0; i < entries_max; ++i) {
    if (!memory(words[table_name] + i * stride, entry)) return;
    const auto type = part_of<std::uint64_t>(entry, words[type_name]);
    if (type == 0) return;
    const bool is_static = part_of<std::int32_t>(entry, words[static_name]) != 0;
    const std::string name = text_at(memory, type) + "::" +
                             text_at(memory, part_of<std::uint64_t>(entry, words[field_name]));
    members_[name] = {
        .is_static = is_static,
        .at = part_of<std::uint64_t>(entry, words[is_static ? address_name : offset_name])};
  }
}

// ── objects of Java ──

/// How the parts of objects are found; learned from a thread whose name is known in part.
struct Way {
  std::uint32_t name = 0;        ///< bytes into a thread object: reference to its name
  std::uint32_t characters = 0;  ///< bytes into a string object: reference to its array
  std::uint32_t length = 0;      ///< bytes into an array: its length
  std::uint32_t data = 0;        ///< likewise: its first element
  bool is_compressed = true;     ///< references of 4 bytes
  bool is_wide = false;          ///< characters of two bytes
};

class Objects {
 public:
  Objects(const Members& members, const ReadMemory& memory) : memory_(memory) {
    const auto either = [&](std::string_view one, std::string_view other) {
      const std::uint64_t address = members.address(one);
      return address != 0 ? address : members.address(other);
    };
    base_ = value_at<std::uint64_t>(
                memory, either("CompressedOops::_base", "CompressedOops::_narrow_oop._base"))
                .value_or(0);
    shift_ = value_at<std::uint32_t>(
                 memory, either("CompressedOops::_shift", "CompressedOops::_narrow_oop._shift"))
                 .value_or(0) &
             7;
  }

  /// The name of the thread object at `object`, if it begins with `cut`.
  std::optional<std::string> name_of(std::uint64_t object, std::string_view cut) {
    std::array<std::byte, thread_bytes> thread{};
    if (object == 0 || !memory_(object, thread)) return std::nullopt;
    // A machine has strings of two kinds: of narrow characters, and of wide ones.
    for (const Way& way : known_)
      if (auto name = name_by(way, thread, cut)) return name;
    if (searches_++ >= searches_max) return std::nullopt;
    return search(thread, cut);
  }

 private:
  static constexpr std::size_t thread_bytes = 256, string_bytes = 40, array_head = 24;

  std::uint64_t reference(std::span<const std::byte> object, std::size_t at,
                          bool is_compressed) const {
    if (!is_compressed) return part_of<std::uint64_t>(object, at);
    const auto narrow = part_of<std::uint32_t>(object, at);
    return narrow == 0 ? 0 : base_ + (std::uint64_t{narrow} << shift_);
  }

  std::optional<std::string> text_of(const Way& way, std::uint64_t array, std::string_view cut) {
    std::array<std::byte, array_head> head{};
    if (array == 0 || !memory_(array, head)) return std::nullopt;
    const auto length = part_of<std::uint32_t>(head, way.length);
    if (length <= cut.size() || length > longest_array) return std::nullopt;
    std::vector<std::byte> bytes(std::min<std::size_t>(length, longest_name * 2));
    if (!memory_(array + way.data, bytes)) return std::nullopt;
    std::string text;
    const std::size_t width = way.is_wide ? 2 : 1;
    for (std::size_t i = 0; i + width <= bytes.size() && text.size() < longest_name; i += width)
      append_utf8(text,
                  way.is_wide ? part_of<char16_t>(bytes, i) : part_of<std::uint8_t>(bytes, i));
    if (!text.starts_with(cut) || text.size() == cut.size()) return std::nullopt;
    return text;
  }

  std::optional<std::string> name_by(const Way& way, std::span<const std::byte> thread,
                                     std::string_view cut) {
    std::array<std::byte, string_bytes> string{};
    const std::uint64_t name = reference(thread, way.name, way.is_compressed);
    if (name == 0 || !memory_(name, string)) return std::nullopt;
    return text_of(way, reference(string, way.characters, way.is_compressed), cut);
  }

  /// Tries all places where the parts of the name may be.
  std::optional<std::string> search(std::span<const std::byte> thread, std::string_view cut) {
    for (const bool is_compressed : {true, false}) {
      const std::uint32_t step = is_compressed ? 4 : 8;
      for (Way way{.name = 8, .is_compressed = is_compressed}; way.name < thread_bytes;
           way.name += step)
        if (auto name = search_string(way, thread, cut)) return name;
    }
    return std::nullopt;
  }
  std::optional<std::string> search_string(Way& way, std::span<const std::byte> thread,
                                           std::string_view cut) {
    std::array<std::byte, string_bytes> string{};
    const std::uint64_t name = reference(thread, way.name, way.is_compressed);
    if (name == 0 || !memory_(name, string)) return std::nullopt;
    // Without and with compressed classes, with compact headers, and with gaps filled or not.
    struct Array {
      std::uint32_t length, data;
    };
    constexpr Array arrays[] = {{12, 16}, {16, 24}, {16, 20}, {8, 12}};
    const std::uint32_t step = way.is_compressed ? 4 : 8;
    for (way.characters = 8; way.characters < string_bytes; way.characters += step) {
      const std::uint64_t array = reference(string, way.characters, way.is_compressed);
      for (const Array& one : arrays)
        for (const bool is_wide : {false, true}) {
          way.length = one.length;
          way.data = one.data;
          way.is_wide = is_wide;
          auto text = text_of(way, array, cut);
          if (!text) continue;
          known_.push_back(way);
          return text;
        }
    }
    return std::nullopt;
  }

  static constexpr std::uint32_t longest_array = 1u << 16;

  const ReadMemory& memory_;
  std::uint64_t base_ = 0;
  std::uint32_t shift_ = 0;
  std::vector<Way> known_;
  int searches_ = 0;
};

}  // namespace

bool may_be_jvm(const Mapping& mapping) {
  return mapping.is_file() && mapping.path.ends_with("/libjvm.so");
}

std::vector<NamedThread> java_thread_names(const Mapping& mapping, const FileBytes& file,
                                           const ReadMemory& memory,
                                           std::span<const NamedThread> cut) {
  std::vector<NamedThread> named;
  const Members members(mapping, file, memory);
  const auto number = [&](std::uint64_t address) {
    return value_at<std::uint64_t>(memory, address).value_or(0);
  };
  const std::uint64_t object_at = members.offset("JavaThread::_threadObj"),
                      id_at = members.offset("OSThread::_thread_id"),
                      of_java = members.offset("JavaThread::_osthread"),
                      system_at = of_java != 0 ? of_java : members.offset("Thread::_osthread"),
                      list_at = members.address("ThreadsSMRSupport::_java_thread_list");
  if (object_at == 0 || id_at == 0 || system_at == 0 || list_at == 0) return named;
  const std::uint64_t list = number(list_at),
                      threads = number(list + members.offset("ThreadsList::_threads"));
  const auto count = value_at<std::uint32_t>(memory, list + members.offset("ThreadsList::_length"));
  std::map<std::uint32_t, std::string_view> wanted;
  for (const NamedThread& thread : cut) wanted[thread.tid] = thread.name;
  Objects objects(members, memory);
  for (std::size_t i = 0; i < std::min<std::size_t>(count.value_or(0), threads_max); ++i) {
    const std::uint64_t thread = number(threads + i * sizeof thread);
    const auto tid = value_at<std::uint32_t>(memory, number(thread + system_at) + id_at);
    const auto found = tid ? wanted.find(*tid) : wanted.end();
    if (found == wanted.end()) continue;
    // The handle is the address of a reference of 8 bytes.
    if (auto name = objects.name_of(number(number(thread + object_at)), found->second))
      named.push_back({.tid = found->first, .name = std::move(*name)});
  }
  return named;
}

}  // namespace overdue
