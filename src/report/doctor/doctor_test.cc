#include "report/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/doctor/findings.h"

namespace overdue {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view planned[] = {"stalls", "worst"};

struct Answer {
  std::string text;
  int status = -1;
};

Answer doctor(const DoctorOptions& options, const Calibrate& calibrate = {},
              const std::set<std::string>& without = {}) {
  Answer answer;
  Output output(answer.text);
  Kernel kernel;
  kernel.pretend_missing(without);
  answer.status = run_doctor(options, kernel, planned, calibrate, output);
  output.flush();
  return answer;
}

nlohmann::json parsed(const DoctorOptions& options, const Calibrate& calibrate = {},
                      const std::set<std::string>& without = {}) {
  return nlohmann::json::parse(doctor(options, calibrate, without).text);
}

const nlohmann::json& named(const nlohmann::json& list, std::string_view name) {
  for (const auto& entry : list)
    if (entry.at("name") == name) return entry;
  throw Error("no entry {}", name);
}

/// A machine on which everything works, for the forms of the report.
Diagnosis healthy() {
  Diagnosis found;
  found.host.name = "box\x1b[31m";
  found.host.kernel = "6.1.0";
  found.lockdown = "none";
  found.clocksource = "tsc";
  found.commands.push_back({.name = "syscalls", .how = "typed tracepoints", .native = {}});
  found.calibration = Calibration{
      .base_ns = 80, .traced_ns = 190.4, .bystander_ns = 130, .spread = 0.02, .rounds = 9};
  return found;
}

TEST(Doctor, JsonCoversEveryCommandAndFeature) {
  const auto json = parsed({.format = "json", .calibrate = false});
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("command"), "doctor");
  EXPECT_FALSE(json.at("host").at("name").get<std::string>().empty());
  EXPECT_EQ(json.at("features").size(), facilities().size());
  for (const char* command : {"syscalls", "stalls", "offcpu", "profile", "flame", "timerlat",
                              "osnoise", "worst irqsoff", "worst hwlat", "func", "graph", "io",
                              "record", "report", "export", "top", "serve", "ftrace", "ctl"})
    EXPECT_TRUE(named(json.at("commands"), command).contains("availability")) << command;
  EXPECT_TRUE(named(json.at("commands"), "syscalls").at("in_version"));
  EXPECT_FALSE(named(json.at("commands"), "stalls").at("in_version"));
  EXPECT_FALSE(named(json.at("commands"), "worst hwlat").at("in_version"));
  EXPECT_FALSE(json.at("calibration").at("measured"));
}

TEST(Doctor, EveryNoHasAReasonAndARemedy) {
  const auto json = parsed({.format = "json", .calibrate = false});
  for (const char* list : {"features", "commands"}) {
    for (const auto& entry : json.at(list)) {
      const bool yes = entry.contains("yes") ? entry.at("yes").get<bool>()
                                             : entry.at("availability") == "natively";
      EXPECT_EQ(yes, !entry.contains("missing")) << entry;
      if (yes) continue;
      EXPECT_FALSE(entry.at("missing").get<std::string>().empty()) << entry;
      EXPECT_FALSE(entry.at("remedy").get<std::string>().empty()) << entry;
    }
  }
}

TEST(Doctor, StatusIsWhetherSyscallsWorks) {
  const Answer answer = doctor({.format = "json", .calibrate = false}, {}, {"btf"});
  EXPECT_EQ(answer.status, 1);
  const auto json = nlohmann::json::parse(answer.text);
  EXPECT_FALSE(json.at("works"));
  EXPECT_EQ(named(json.at("commands"), "syscalls").at("availability"), "no");
  EXPECT_EQ(named(json.at("commands"), "report").at("availability"), "natively");
  const Answer text = doctor({.format = "text", .calibrate = false}, {}, {"btf"});
  EXPECT_THAT(text.text, HasSubstr("overdue syscalls does not work here"));
}

TEST(Doctor, ProbesThatDoNotLoadMakeItANo) {
  const auto refuse = []() -> std::optional<Calibration> { throw Error("the verifier says no"); };
  const Answer answer = doctor({.format = "text", .calibrate = true}, refuse);
  EXPECT_EQ(answer.status, 1);
  if (!Kernel().privileges().yes) GTEST_SKIP() << "without privileges nothing is loaded";
  EXPECT_THAT(answer.text, HasSubstr("the verifier says no"));
}

TEST(Doctor, UnknownFeatureIsAUsageError) {
  try {
    doctor({.format = "text", .calibrate = false}, {}, {"kprobes"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
  }
}

TEST(Doctor, HiddenTracersAreReplacedBySubstitutes) {
  const auto json = parsed({.format = "json", .calibrate = false}, {}, {"tracefs"});
  const auto& timerlat = named(json.at("commands"), "timerlat");
  EXPECT_NE(timerlat.at("availability"), "natively");
  EXPECT_EQ(named(json.at("commands"), "ftrace").at("availability"), "no");
}

TEST(DoctorReport, StatesTheFloor) {
  const std::string text = doctor_text(healthy(), false);
  EXPECT_THAT(text, HasSubstr("measuring adds 110 ns a call"));
  EXPECT_THAT(text, HasSubstr("Latencies below 111 ns are not reliable here."));
  EXPECT_THAT(text, HasSubstr("pays 50 ns a call"));
  const auto json = nlohmann::json::parse(doctor_json(healthy()));
  EXPECT_EQ(json.at("calibration").at("floor_ns"), 111);
  EXPECT_EQ(json.at("calibration").at("cost_ns"), 110);
  EXPECT_EQ(json.at("calibration").at("bystander_cost_ns"), 50);
}

TEST(DoctorReport, SaysWhatDiffersAndTheRestWhenAsked) {
  Diagnosis found = healthy();
  found.commands.push_back({.name = "worst irqsoff",
                            .availability = Availability::by_substitute,
                            .how = "a lower bound",
                            .native = Support::no("no tracer", "another kernel")});
  found.commands.push_back({.name = "serve", .how = {}, .native = {}, .in_version = false});
  found.facilities.push_back({"btf", "types", {}});
  const std::string brief = doctor_text(found, false), all = doctor_text(found, true);
  EXPECT_THAT(brief, HasSubstr("worst irqsoff         substitute\n      instead: a lower bound"));
  EXPECT_THAT(brief, HasSubstr("all others work natively"));
  EXPECT_THAT(brief, Not(HasSubstr("  syscalls ")));
  EXPECT_THAT(brief, Not(HasSubstr("yes btf")));
  EXPECT_THAT(all, HasSubstr("  syscalls              natively"));
  EXPECT_THAT(all, HasSubstr("yes btf"));
  for (const std::string& text : {brief, all}) EXPECT_THAT(text, Not(HasSubstr("  serve")));
}

TEST(DoctorReport, AnUnquietMachineRaisesTheFloor) {
  Diagnosis found = healthy();
  found.calibration->spread = 2;
  EXPECT_EQ(nlohmann::json::parse(doctor_json(found)).at("calibration").at("floor_ns"), 160);
}

TEST(DoctorReport, FitsTheScreenAndHidesEscapes) {
  Diagnosis found = healthy();
  found.traps.push_back(
      {"clocksource", std::string(60, 'x') + " " + std::string(60, 'y'), "boot with tsc=reliable"});
  EXPECT_THAT(doctor_text(found, true), Not(HasSubstr("\x1b")));
  const std::string text =
      doctor_text(found, true) + doctor({.format = "text", .calibrate = false}).text +
      doctor({.format = "text", .calibrate = false}, {}, {"tracefs", "uprobe"}).text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(DoctorTraps, ASetDebuginfodIsOne) {
  ::setenv("DEBUGINFOD_URLS", "https://debuginfod.example", 1);
  const Kernel kernel;
  bool seen = false;
  for (const Trap& trap : find_traps(kernel, Diagnosis())) seen |= trap.name == "DEBUGINFOD_URLS";
  ::unsetenv("DEBUGINFOD_URLS");
  EXPECT_TRUE(seen);
  for (const Trap& trap : find_traps(kernel, Diagnosis())) EXPECT_NE(trap.name, "DEBUGINFOD_URLS");
}

TEST(DoctorTraps, ASlowClockIsOne) {
  Diagnosis found;
  found.clocksource = "hpet";
  found.clock_read_ns = 1234;
  const Kernel kernel;
  bool seen = false;
  for (const Trap& trap : find_traps(kernel, found))
    seen |= trap.name == "clocksource" && trap.what.find("1234 ns") != std::string::npos;
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace overdue
