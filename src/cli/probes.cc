// `overdue probes`: what can be measured.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "core/probe.h"
#include "sinks/output.h"

namespace overdue {
namespace {

void print_text(Output& output, std::string_view wanted) {
  for (const ProbeInfo* probe : all_probes()) {
    if (!wanted.empty() && probe->name != wanted) continue;
    output.append(fmt::format("{:<12} {}\n", probe->name, probe->summary));
    if (wanted.empty()) continue;
    for (const Schema* schema : probe->schemas) {
      output.append(
          fmt::format("\n  {} ({} bytes): {}\n", schema->name, schema->size, schema->help));
      for (const Field& field : schema->fields)
        output.append(fmt::format("    {:<16} {}\n", field.name, field.help));
    }
    output.append(fmt::format("\n{}", probe->manual));
  }
}

void print_json(Output& output) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ProbeInfo* probe : all_probes()) {
    nlohmann::ordered_json records = nlohmann::ordered_json::array();
    for (const Schema* schema : probe->schemas) {
      nlohmann::ordered_json fields = nlohmann::ordered_json::array();
      for (const Field& field : schema->fields)
        fields.push_back({{"name", field.name}, {"help", field.help}});
      records.push_back({{"name", schema->name}, {"help", schema->help}, {"fields", fields}});
    }
    list.push_back({{"name", probe->name}, {"summary", probe->summary}, {"records", records}});
  }
  output.append(nlohmann::ordered_json{
      {"overdue", OVERDUE_VERSION}, {"schema", 1}, {"command", "probes"}, {"probes", list}}
                    .dump(2));
  output.append('\n');
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
      print_json(output);
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
