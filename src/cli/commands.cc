#include "cli/command.h"

namespace overdue {

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_syscalls_command());
  commands.push_back(make_stalls_command());
  commands.push_back(make_timerlat_command());
  commands.push_back(make_osnoise_command());
  commands.push_back(make_worst_command());
  commands.push_back(make_record_command());
  commands.push_back(make_report_command());
  commands.push_back(make_flame_command());
  commands.push_back(make_ctl_command());
  commands.push_back(make_demo_command());
  commands.push_back(make_doctor_command());
  commands.push_back(make_probes_command());
  commands.push_back(make_schema_command());
  commands.push_back(make_help_command());
  return commands;
}

std::vector<std::string_view> planned_commands() {
  return {"offcpu", "profile", "func", "graph", "io", "export", "top", "serve", "ftrace", "bench"};
}

}  // namespace overdue
