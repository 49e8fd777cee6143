#include "kernel/skeleton.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/thread_rights.h"

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

Link attach(bpf_program* program) {
  const LibbpfLog log;
  const AttachRights rights;
  Link link(bpf_program__attach(program));
  if (!link)
    throw LibbpfLog::refusal(fmt::format("cannot attach {}", bpf_program__name(program)), -errno);
  LibbpfLog::attached(
      fmt::format("{} at {}", bpf_program__name(program), bpf_program__section_name(program)));
  return link;
}

Link attach_tracepoint(bpf_program* program, const std::string& category, const std::string& name) {
  const LibbpfLog log;
  const ReadRights to_read;  // only root may read tracefs
  const AttachRights rights;
  Link link(bpf_program__attach_tracepoint(program, category.c_str(), name.c_str()));
  if (!link) {
    throw LibbpfLog::refusal(fmt::format("cannot attach to the tracepoint {}:{}", category, name),
                             -errno);
  }
  LibbpfLog::attached(fmt::format("{} at tp/{}/{}", bpf_program__name(program), category, name));
  return link;
}

Link attach_to_cpu(bpf_program* program, perf_event_attr attributes, std::uint32_t cpu) {
  Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu), -1,
                                    PERF_FLAG_FD_CLOEXEC)));
  if (!event) return nullptr;
  const LibbpfLog log;
  const AttachRights rights;
  Link link(bpf_program__attach_perf_event(program, event.get()));
  if (!link)
    throw LibbpfLog::refusal(
        fmt::format("cannot attach {} to CPU {}", bpf_program__name(program), cpu), -errno);
  event.release();  // the link closes it
  LibbpfLog::attached(fmt::format("{} at an event of CPU {}", bpf_program__name(program), cpu));
  return link;
}

}  // namespace overdue
