// `overdue probes`: what can be measured.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "report/probe_list.h"
#include "sinks/json_members.h"
#include "sinks/output.h"

namespace overdue {
namespace {

void print_text(Output& output, std::string_view wanted) {
  for (const ProbeInfo* probe : all_probes()) {
    if (!wanted.empty() && probe->name != wanted) continue;
    output.append(fmt::format("{:<12} {}\n", probe->name, probe->summary));
    if (wanted.empty()) continue;
    for (const SpanKind& kind : spans_of(*probe))
      output.append(fmt::format("\n  span {}: {}\n", kind.name, kind.sentence));
    for (const Schema* schema : probe->schemas) {
      output.append(
          fmt::format("\n  {} ({} bytes): {}\n", schema->name, schema->size, schema->help));
      for (const Field& field : schema->fields)
        output.append(fmt::format("    {:<16} {}\n", field.name, field.help));
    }
    output.append(fmt::format("\n{}", probe->manual));
  }
}

class ProbesCommand final : public Command {
 public:
  std::string_view name() const override { return "probes"; }
  Rights rights() const override { return Rights::caller; }
  void add_options(CLI::App& app) override {
    app.add_option("name", probe_);
    app.add_option("-f,--format", format_)->check(CLI::IsMember({"text", "json"}));
  }
  int run(const Invocation&) override {
    bool known = probe_.empty();
    for (const ProbeInfo* probe : all_probes()) known |= probe->name == probe_;
    if (!known)
      throw Error("unknown probe '{}'", printable(probe_))
          .hint("`overdue probes` lists them")
          .exit_status(2);
    Output output(STDOUT_FILENO);
    if (format_ == "json")
      output.append(json_document(describe_probes));
    else
      print_text(output, probe_);
    output.flush();
    return 0;
  }

 private:
  std::string probe_;
  std::string format_ = "text";
};

}  // namespace

std::unique_ptr<Command> make_probes_command() {
  return std::make_unique<ProbesCommand>();
}

}  // namespace overdue
