#include "cli/osnoise_instruments.h"

#include <fmt/format.h>

#include "sinks/text_format.h"

namespace overdue {

void OsnoiseInstruments::add_to(Session& session, const Kernel&,
                                const std::vector<std::uint32_t>&) {
  auto probe = std::make_unique<OsnoiseProbe>(threads_, session.membership().maps());
  probe_ = probe.get();
  session.add(std::move(probe));
}

void OsnoiseInstruments::armed(KernelTime start) {
  probe_->cost().begin(start);
  probe_->begin();
}

void OsnoiseInstruments::poll(KernelTime now, const RecordHandler& handler) {
  probe_->cost().poll(now);
  probe_->poll(handler);
}

std::vector<std::string> OsnoiseInstruments::notes() const {
  std::vector<std::string> notes;
  if (const std::uint64_t unseen = threads_.unseen(); unseen > 0)
    notes.push_back(fmt::format(
        "in {} another thread ran, and the kernel told no program which: they are counted as of a "
        "thread without a name",
        counted(unseen, "pause")));
  if (const std::uint64_t untold = threads_.untold(); untold > 0)
    notes.push_back(fmt::format(
        "the latest {} pieces of noise of a pause are told of; there were {} more, whose "
        "time is in the residual",
        OSNOISE_NOISES_MAX, grouped(untold)));
  return notes;
}

}  // namespace overdue
