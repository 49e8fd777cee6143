#include "resolve/local_resolver.h"

#include <utility>

namespace overdue {
LocalResolver::LocalResolver(ProcessImages& images, const Options& options,
                             StackReader::Options reader)
    : Resolver(images, options),
      files_(images),
      reader_(reader.with_names(options.names), files_) {}

void LocalResolver::use(const ProcessImage& image, pid_t pid) {
  files_.set_process(&image, pid);
  if (reader_.has_space(image.id())) return;
  ProcessMaps maps;
  for (const auto& entry : image.entries()) maps.add(entry.mapping);
  reader_.add_space(image.id(), maps);
}

std::optional<ResolvedStack> LocalResolver::read_user_stack(const ProcessImage& image, pid_t pid,
                                                            const user_registers& registers,
                                                            const UserCopy& copy) {
  use(image, pid);
  return reader_.user_stack(image.id(), registers, copy);
}

std::optional<FoundPython> LocalResolver::read_python(const ProcessImage& image, pid_t pid) {
  use(image, pid);
  return reader_.python_of(image.id());
}

std::optional<std::vector<NamedThread>> LocalResolver::read_java_threads(
    const ProcessImage& image, pid_t pid, std::span<const NamedThread> cut) {
  use(image, pid);
  return reader_.java_threads_of(image.id(), cut);
}

std::optional<ResolvedStack> LocalResolver::read_recorded_stack(
    const ProcessImage& image, pid_t pid, std::span<const std::uint64_t> addresses) {
  use(image, pid);
  return reader_.recorded_stack(image.id(), addresses);
}

}  // namespace overdue
