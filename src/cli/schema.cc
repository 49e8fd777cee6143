// `overdue schema`: the JSON Schema of every document and line that Overdue writes.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "core/probe.h"
#include "sinks/json_schema.h"
#include "sinks/output.h"

namespace overdue {
namespace {

class SchemaCommand final : public Command {
 public:
  std::string_view name() const override { return "schema"; }
  Rights rights() const override { return Rights::caller; }
  void add_options(CLI::App&) override {}
  int run(const Invocation&) override {
    Output output(STDOUT_FILENO);
    output.append(json_schema(all_schemas()));
    output.flush();
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_schema_command() {
  return std::make_unique<SchemaCommand>();
}

}  // namespace overdue
