#pragma once

namespace overdue {

/// glibc keeps and reuses large blocks while this exists: libbpf reads and parses the kernel's
/// types (5 to 10 MB) for each object that it loads, and the faults for fresh pages take longer
/// than the parsing. The heap has huge pages meanwhile. Afterwards large blocks go back to the
/// kernel as soon as they are freed, and so does what is free. For one thread at a time, and not
/// nested.
class StartMemory {
 public:
  StartMemory();
  ~StartMemory();
  StartMemory(const StartMemory&) = delete;
  StartMemory& operator=(const StartMemory&) = delete;

  /// The rule for the rest of the program's life. A fixed limit: glibc's own grows with each large
  /// block that is freed, and the next large block then comes from the heap, which a small block
  /// behind it keeps from shrinking.
  static void give_back_large_blocks();
};

}  // namespace overdue
