#pragma once

#include <optional>

#include "resolve/file_source.h"
#include "resolve/resolver.h"
#include "resolve/stack_reader.h"

namespace overdue {

/// Reads the files of the processes itself, with Overdue's rights: for tests, and for
/// `--no-sandbox`.
class LocalResolver : public Resolver {
 public:
  explicit LocalResolver(ProcessImages& images) : LocalResolver(images, {}, {}) {}
  LocalResolver(ProcessImages& images, const Options& options, StackReader::Options reader);

 private:
  std::optional<FoundPython> read_python(const ProcessImage& image, pid_t pid) override;
  std::optional<std::vector<NamedThread>> read_java_threads(
      const ProcessImage& image, pid_t pid, std::span<const NamedThread> cut) override;
  std::optional<ResolvedStack> read_user_stack(const ProcessImage& image, pid_t pid,
                                               const user_registers& registers,
                                               const UserCopy& copy) override;
  std::optional<ResolvedStack> read_recorded_stack(
      const ProcessImage& image, pid_t pid, std::span<const std::uint64_t> addresses) override;
  void use(const ProcessImage& image, pid_t pid);

  OpenedFiles files_;
  StackReader reader_;
};

}  // namespace overdue
