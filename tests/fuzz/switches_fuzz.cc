// Any bytes, as the text of a trace. No crash, no leak, and every thread's parts fit into its time.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "report/offcpu/table.h"
#include "report/offcpu/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace overdue;
  SwitchAccount account;
  OffcpuTable table;
  const RecordHandler handler = [&](const Record& record) { table.add(record); };
  std::size_t events = 0;
  for (const std::string_view line : split({reinterpret_cast<const char*>(data), size}, '\n')) {
    const auto event = parse_switch_line(line);
    if (!event) continue;
    account.add(*event);
    if (++events % 16 == 0) account.report(handler);
  }
  account.report(handler);
  for (const OffcpuRow& row : table.rows(Whose::thread))
    if (row.oncpu_ns + row.offcpu_ns() > row.wall_ns) std::abort();
  return 0;
}
