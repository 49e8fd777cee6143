#include "kernel/skeleton.h"

namespace overdue {

Link attach(bpf_program* program) {
  const LibbpfLog log;
  Link link(bpf_program__attach(program));
  if (!link) {
    const int error = -errno;
    throw Error("cannot attach {}: {}", bpf_program__name(program), LibbpfLog::explain(error))
        .hint(LibbpfLog::remedy(error));
  }
  LibbpfLog::attached(
      fmt::format("{} at {}", bpf_program__name(program), bpf_program__section_name(program)));
  return link;
}

Link attach_tracepoint(bpf_program* program, const std::string& category, const std::string& name) {
  const LibbpfLog log;
  Link link(bpf_program__attach_tracepoint(program, category.c_str(), name.c_str()));
  if (!link) {
    const int error = -errno;
    throw Error("cannot attach to the tracepoint {}:{}: {}", category, name,
                LibbpfLog::explain(error))
        .hint(LibbpfLog::remedy(error));
  }
  LibbpfLog::attached(fmt::format("{} at tp/{}/{}", bpf_program__name(program), category, name));
  return link;
}

}  // namespace overdue
