#include "kernel/skeleton.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/thread_rights.h"
#include "kernel/tracefs_events.h"

namespace overdue {

bool is_refused(const RefusedPrograms& refused, const bpf_program* program) {
  return std::any_of(refused.begin(), refused.end(), [&](const RefusedProgram& one) {
    return one.name == bpf_program__name(program);
  });
}

std::vector<std::string> to_sentences(const RefusedPrograms& refused) {
  std::vector<std::string> all;
  for (const RefusedProgram& one : refused)
    all.push_back(fmt::format("the hook {} is left out: {}", one.section, one.reason));
  return all;
}

std::string_view tracepoint_of(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  return section.substr(section.rfind('/') + 1);
}

namespace {

Fd open_event(perf_event_attr attributes, int cpu) {
  return Fd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

/// `what`: where the program is attached, for messages.
Link attach_to_event(bpf_program* program, Fd event, const std::string& what) {
  const LibbpfLog log;
  const AttachRights rights;
  Link link(bpf_program__attach_perf_event(program, event.get()));
  if (!link)
    throw LibbpfLog::refusal(fmt::format("cannot attach {} {}", bpf_program__name(program), what),
                             -errno);
  event.release();  // the link closes it
  LibbpfLog::attached(fmt::format("{} {}", bpf_program__name(program), what));
  return link;
}

}  // namespace

Link attach(bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  if (const std::string_view kind = "tp/"; section.starts_with(kind)) {
    const std::string_view event = section.substr(kind.size());
    const std::size_t slash = event.find('/');
    return attach_tracepoint(program, std::string(event.substr(0, slash)),
                             std::string(event.substr(slash + 1)));
  }
  const LibbpfLog log;
  const AttachRights rights;
  Link link(bpf_program__attach(program));
  if (!link)
    throw LibbpfLog::refusal(fmt::format("cannot attach {}", bpf_program__name(program)), -errno);
  LibbpfLog::attached(fmt::format("{} at {}", bpf_program__name(program), section));
  return link;
}

/// libbpf would look for the tracepoint only where tracefs is usually mounted.
Link attach_tracepoint(bpf_program* program, const std::string& category, const std::string& name) {
  const std::string what = fmt::format("at tp/{}/{}", category, name);
  const auto id = tracepoint_id(category, name);
  if (!id)
    throw Error("cannot attach to the tracepoint {}:{}: tracefs does not have it", category, name)
        .hint("overdue doctor says whether tracefs can be read");
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = *id;
  const AttachRights rights;
  Fd event = open_event(attributes, 0);
  if (!event)
    throw Error("cannot attach to the tracepoint {}:{}: {}", category, name, errno_text(errno));
  return attach_to_event(program, std::move(event), what);
}

Link attach_to_cpu(bpf_program* program, perf_event_attr attributes, std::uint32_t cpu) {
  Fd event = open_event(attributes, static_cast<int>(cpu));
  if (!event) return nullptr;
  return attach_to_event(program, std::move(event), fmt::format("at an event of CPU {}", cpu));
}

}  // namespace overdue
