#include "source/osnoise_tracer_options.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"

namespace overdue {

void check_tracer_words(const std::string& backend, const std::vector<std::string>& options) {
  if (backend != "auto" && backend != "bpf" && backend != "kernel")
    throw Error("unknown backend '{}'", printable(backend))
        .hint("backends: auto, kernel, bpf")
        .exit_status(2);
  if (!options.empty() && backend != "kernel")
    throw Error("--tracer-option is for the kernel's tracer")
        .hint("--backend kernel")
        .exit_status(2);
  for (const std::string& option : options)
    if (option.empty() || option.size() > 64 ||
        !std::all_of(option.begin(), option.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; }))
      throw Error("bad option of the tracer '{}'", printable(option))
          .hint("as in osnoise/options: TIMERLAT_ALIGN, NO_TIMERLAT_ALIGN")
          .exit_status(2);
}

void set_tracer_options(TracingSettings& settings, const std::vector<std::string>& asked_for) {
  if (!settings.has("options")) {
    if (!asked_for.empty())
      throw Error("this kernel's tracer has no options: there is no osnoise/options")
          .hint("leave --tracer-option out; newer kernels have some");
    return;
  }
  const std::string former = settings.former("options");
  for (const std::string_view wanted : {"OSNOISE_WORKLOAD", "PANIC_ON_STOP"}) {
    const bool is_panic = wanted == "PANIC_ON_STOP";
    if (has_word(former, wanted) == is_panic && former.find(wanted) != former.npos)
      settings.set("options", is_panic ? "NO_PANIC_ON_STOP" : "OSNOISE_WORKLOAD");
  }
  for (const std::string& option : asked_for) {
    const std::string other = option.starts_with("NO_") ? option.substr(3) : "NO_" + option;
    if (!has_word(former, option) && !has_word(former, other))
      throw Error("this kernel's tracer has no option {}", option)
          .hint("it has " + printable(former))
          .exit_status(2);
    settings.set("options", option);
  }
}

}  // namespace overdue
