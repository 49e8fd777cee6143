#pragma once

#include <optional>

#include "resolve/resolver.h"

namespace overdue {

/// Reads no file of any process: user frames stay addresses. Without a sandbox, Overdue's rights
/// must not be used to read files that other users wrote.
class NamelessResolver : public Resolver {
 public:
  NamelessResolver(ProcessImages& images, const Options& options) : Resolver(images, options) {}

 private:
  std::optional<std::vector<NamedThread>> read_java_threads(const ProcessImage&, pid_t,
                                                            std::span<const NamedThread>) override {
    return std::vector<NamedThread>();
  }
  std::optional<FoundPython> read_python(const ProcessImage&, pid_t) override {
    return std::nullopt;
  }
  std::optional<ResolvedStack> read_user_stack(const ProcessImage&, pid_t, const user_registers&,
                                               const UserCopy&) override {
    return std::nullopt;
  }
  std::optional<ResolvedStack> read_recorded_stack(const ProcessImage&, pid_t,
                                                   std::span<const std::uint64_t>) override {
    return std::nullopt;
  }
};

}  // namespace overdue
