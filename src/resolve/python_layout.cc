#include "resolve/python_layout.h"

#include <array>
#include <cstring>
#include <string_view>

#include "symbols/elf_values.h"
#include "symbols/load_segments.h"

namespace overdue {
namespace {

constexpr std::uint32_t v3_11 = 0x030b, v3_12 = 0x030c, v3_13 = 0x030d, v3_14 = 0x030e;

// ── 3.11 and 3.12: tables ──

PythonLayout layout_3_11() {
  PythonLayout layout;
  python_runtime& runtime = layout.runtime;
  runtime.thread_id = 152;
  runtime.current = 56;
  runtime.nested = 8;
  runtime.code = 32;
  runtime.previous = 48;
  runtime.instruction = 56;
  runtime.owner = 69;
  runtime.entry = 68;
  runtime.qualname = 128;
  runtime.shim_owner = 0xff;
  layout.filename = 112;
  layout.line_table = 136;
  layout.first_line = 72;
  layout.instructions = 184;
  layout.string_data = 48;
  return layout;
}

PythonLayout layout_3_12() {
  PythonLayout layout;
  python_runtime& runtime = layout.runtime;
  runtime.thread_id = 136;
  runtime.current = 56;
  runtime.nested = 0;
  runtime.code = 0;
  runtime.previous = 8;
  runtime.instruction = 56;
  runtime.owner = 70;
  runtime.qualname = 128;
  runtime.shim_owner = 3;
  layout.filename = 112;
  layout.line_table = 136;
  layout.first_line = 68;
  layout.instructions = 192;
  layout.string_data = 40;
  return layout;
}

/// The address of the pthread key of thread states, which a function reads that returns the present
/// thread's state: from what its first instructions load, as compilers write them.
class ThreadKey {
 public:
  ThreadKey(const ReadMemory& memory, std::uint64_t runtime, std::uint64_t runtime_size)
      : memory_(memory), runtime_(runtime), runtime_size_(runtime_size) {}

  /// 0: not found.
  std::uint64_t find(std::uint64_t function) {
    if (!memory_(function, code_)) return 0;
    for (std::size_t at = 0; at + longest <= code_.size(); ++at)
      if (const std::uint64_t key = loaded(at, function)) return key;
    return 0;
  }

 private:
  static constexpr std::size_t looked_at = 96, longest = 7;
  static constexpr std::uint8_t load = 0x8b, load_address = 0x8d, put_edi = 0xbf;
  static constexpr std::uint64_t key_in_tss =
      4;  // Py_tss_t: whether it is initialized, then the key

  std::uint8_t byte(std::size_t at) const { return std::to_integer<std::uint8_t>(code_[at]); }
  std::uint64_t distance(std::size_t at) const {
    std::int32_t value = 0;
    std::memcpy(&value, code_.data() + at, sizeof value);
    return static_cast<std::uint64_t>(std::int64_t{value});
  }
  std::uint64_t within_runtime(std::uint64_t key) const {
    return key > runtime_ && key - runtime_ < runtime_size_ && key % 4 == 0 ? key : 0;
  }

  /// Whether the word there is the runtime's address, or will be once the program has started.
  bool has_runtime_at(std::uint64_t address) const {
    const auto value = value_at<std::uint64_t>(memory_, address);
    return value == runtime_ || value == 0;
  }

  /// By an instruction at `at`, or by what is taken for one: only addresses within the runtime
  /// count.
  std::uint64_t loaded(std::size_t at, std::uint64_t function) {
    if (byte(at) == put_edi) return within_runtime(distance(at + 1) + key_in_tss);
    const bool is_wide = (byte(at) & 0xf8) == 0x48;
    const std::size_t operation = is_wide ? at + 1 : at;
    const std::uint8_t what = byte(operation), operands = byte(operation + 1);
    const std::uint64_t offset = distance(operation + 2);
    const bool is_to_edi = (operands & 0x38) == 0x38;
    const bool gets_address = is_wide && what == load_address;
    const bool gets_key = !is_wide && what == load && is_to_edi;
    if ((operands & 0xc7) == 0x05) {  // relative to the next instruction
      const std::uint64_t target = function + operation + longest - 1 + offset;
      has_runtime_ = has_runtime_ || (is_wide && what == load && has_runtime_at(target)) ||
                     (gets_address && target == runtime_);
      return gets_address ? within_runtime(target + key_in_tss) * (target != runtime_)
             : gets_key   ? within_runtime(target)
                          : 0;
    }
    const bool is_from_register = (operands & 0xc0) == 0x80 && (operands & 7) != 4;
    if (!has_runtime_ || !is_from_register) return 0;
    return gets_address ? within_runtime(runtime_ + offset + key_in_tss)
           : gets_key   ? within_runtime(runtime_ + offset)
                        : 0;
  }

  const ReadMemory& memory_;
  std::uint64_t runtime_, runtime_size_;
  std::array<std::byte, looked_at> code_{};
  bool has_runtime_ = false;  // in a register
};

// ── 3.13 and later: _Py_DebugOffsets ──

/// Numbers of words in _Py_DebugOffsets.
struct Words {
  std::uint32_t version;
  std::uint8_t interpreters, threads, main_thread, next_thread, current, thread_id;
  std::uint8_t previous, code, instruction, owner;
  std::uint8_t filename, qualname, line_table, first_line, instructions;
};
constexpr std::uint8_t no_word = 0;
constexpr Words known_words[] = {
    {v3_13, 5, 9, no_word, 21, 23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43},
    {v3_14, 5, 9, 10, 24, 26, 27, 32, 33, 34, 36, 40, 42, 43, 44, 48},
};
constexpr std::size_t words_read = 64, free_threaded_word = 2;
constexpr std::uint64_t max_offset = 1u << 15;
constexpr std::string_view cookie = "xdebugpy";

FoundPython from_debug_offsets(const Words& at, std::uint64_t runtime_at,
                               const ReadMemory& memory) {
  std::array<std::uint64_t, words_read> words{};
  if (!memory(runtime_at, std::as_writable_bytes(std::span(words))))
    return {.support = PythonSupport::unreadable};
  if (std::memcmp(words.data(), cookie.data(), cookie.size()) != 0)
    return {.support = PythonSupport::version};
  if (words[free_threaded_word] != 0) return {.support = PythonSupport::free_threaded};
  bool is_good = words[at.interpreters] < 1u << 24;
  const auto offset = [&](std::uint8_t word) {
    if (word == no_word) return std::uint16_t{0};
    is_good = is_good && words[word] < max_offset;
    return static_cast<std::uint16_t>(words[word]);
  };
  FoundPython found{.support = PythonSupport::yes};
  PythonLayout& layout = found.layout;
  python_runtime& runtime = layout.runtime;
  runtime.interpreter = runtime_at + words[at.interpreters];
  runtime.main_thread = offset(at.main_thread);
  runtime.threads = offset(at.threads);
  runtime.next_thread = offset(at.next_thread);
  runtime.thread_id = offset(at.thread_id);
  runtime.current = offset(at.current);
  runtime.nested = PYTHON_DIRECT;
  runtime.code = offset(at.code);
  runtime.previous = offset(at.previous);
  runtime.instruction = offset(at.instruction);
  runtime.owner = offset(at.owner);
  runtime.qualname = offset(at.qualname);
  runtime.shim_owner = 3;
  layout.filename = offset(at.filename);
  layout.line_table = offset(at.line_table);
  layout.first_line = offset(at.first_line);
  layout.instructions = offset(at.instructions);
  layout.string_data = 40;
  return is_good ? found : FoundPython{.support = PythonSupport::version};
}

}  // namespace

bool may_be_python(const Mapping& mapping) {
  const std::string_view name = mapping.path.substr(mapping.path.rfind('/') + 1);
  return mapping.is_file() && (name.starts_with("python3") || name.starts_with("libpython3"));
}

FoundPython find_python(const Mapping& mapping, const FileBytes& file, const ReadMemory& memory) {
  constexpr std::string_view runtime_name = "_PyRuntime", version_name = "Py_Version",
                             code_name = "PyCode_Type", unicode_name = "PyUnicode_Type",
                             bytes_name = "PyBytes_Type",
                             state_name = "PyGILState_GetThisThreadState";
  constexpr std::array names = {runtime_name, version_name, code_name,
                                unicode_name, bytes_name,   state_name};
  const auto image = ElfImage::read(file);
  if (!image) return {.support = PythonSupport::unreadable};
  const auto mapped_at = LoadSegments(*image).address_of(mapping.file_offset);
  const auto values = elf_values(*image, names);
  if (!mapped_at || !values.contains(runtime_name)) return {.support = PythonSupport::none};
  if (values.size() < names.size()) return {.support = PythonSupport::version};
  const auto address = [&](std::string_view name) {
    return values.find(name)->second.address + (mapping.start - *mapped_at);
  };
  const auto version = value_at<std::uint32_t>(memory, address(version_name));
  if (!version) return {.support = PythonSupport::unreadable};
  const std::uint64_t runtime = address(runtime_name);
  const std::uint32_t minor = *version >> 16;
  FoundPython found{.support = PythonSupport::version};
  if (minor == v3_11 || minor == v3_12) {
    found.layout = minor == v3_11 ? layout_3_11() : layout_3_12();
    found.layout.runtime.thread_key =
        ThreadKey(memory, runtime, values.find(runtime_name)->second.size)
            .find(address(state_name));
    if (found.layout.runtime.thread_key != 0) found.support = PythonSupport::yes;
  }
  for (const Words& words : known_words)
    if (words.version == minor) found = from_debug_offsets(words, runtime, memory);
  found.layout.qualname = found.layout.runtime.qualname;
  found.layout.code_type = address(code_name);
  found.layout.unicode_type = address(unicode_name);
  found.layout.bytes_type = address(bytes_name);
  return found;
}

}  // namespace overdue
