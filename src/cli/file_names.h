#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/stack.h"
#include "symbols/elf_symbols.h"

namespace overdue {

/// Names frames of a recording that has modules, offsets and build ids only, by the files of the
/// machine where it is read: the module itself where it is still the same build, else its debug
/// file by build id. A file of another build names nothing. Used by one thread.
class FileNames {
 public:
  void name(StackFrame& frame);

 private:
  const ElfSymbols& symbols_of(const StackFrame& frame);

  std::map<std::string, ElfSymbols> files_;  // by build id
};

}  // namespace overdue
