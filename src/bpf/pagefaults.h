// SPDX-License-Identifier: GPL-2.0
// What the record of a page fault says of it: flags in span_record.detail.
#pragma once

enum pagefault_flags {
  PAGEFAULT_MAJOR = 1,  // the thread had to wait for the page to be read
  PAGEFAULT_WRITE = 2,
  PAGEFAULT_EXECUTE = 4,  // of an instruction
  PAGEFAULT_FILE = 8,     // the page belongs to the file in the record's text
  PAGEFAULT_MEMORY = 16,  // … to memory without a file; neither: not known
};
