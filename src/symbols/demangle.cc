#include "symbols/demangle.h"

#include <array>
#include <csetjmp>
#include <cstring>

// Otherwise libiberty.h declares basename(), and differently from <cstring>.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t longest_mangled = 8u << 10;
constexpr std::size_t longest_name = 4u << 10;

/// The output of a demangler. Allocates nothing, because longjmp leaves the demangler.
struct Sheet {
  std::array<char, longest_name> text;
  std::size_t size = 0;
  bool is_full = false;
  std::jmp_buf leave;
};

// Demangling takes the time of its output, which can be exponential in its input, so leaving early
// is the only bound. libiberty's C++ demangler holds no memory while it writes. Its Rust demangler
// holds memory only while it writes an identifier, which has no punctuation.
void write(const char* piece, std::size_t size, void* opaque) {
  if (size == 0) return;  // and `piece` may be null
  Sheet& sheet = *static_cast<Sheet*>(opaque);
  if (!sheet.is_full && size <= sheet.text.size() - sheet.size) {
    std::memcpy(sheet.text.data() + sheet.size, piece, size);
    sheet.size += size;
    return;
  }
  sheet.is_full = true;
  if (std::strchr("<>(),&*[] ;:", piece[0])) std::longjmp(sheet.leave, 1);
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// Has no objects with destructors: the jump would skip them.
bool run(Demangler demangler, const char* mangled, Sheet& sheet) {
  if (setjmp(sheet.leave) != 0) return false;  // NOLINT(bugprone-*): see write()
  return demangler(mangled, DMGL_ANSI, write, &sheet) != 0 && !sheet.is_full && sheet.size > 0;
}

}  // namespace

std::string demangle(std::string_view name) {
  if (name.size() > longest_mangled || name.size() < 3) return printable(name);
  // LLVM's suffix of a function that it made from another one does not help a reader.
  std::string mangled(name.substr(0, name.find(".llvm.")));
  const bool is_rust = mangled.starts_with("_R");
  const bool is_itanium = mangled.starts_with("_Z");
  if (!is_rust && !is_itanium) return printable(name);
  for (const Demangler demangler : {rust_demangle_callback, cplus_demangle_v3_callback}) {
    if (is_rust && demangler == cplus_demangle_v3_callback) break;
    Sheet sheet;
    if (run(demangler, mangled.c_str(), sheet)) return printable({sheet.text.data(), sheet.size});
  }
  return printable(name);
}

}  // namespace overdue
