// The report of `overdue doctor` about two machines that do not exist, against doctor/.
#include <string>

#include <gtest/gtest.h>

#include "golden.h"
#include "report/doctor/findings.h"

namespace overdue {
namespace {

Diagnosis any_machine() {
  Diagnosis found;
  found.host = {.name = "testbox",
                .kernel = "6.1.0-56-amd64",
                .build = "#1 SMP PREEMPT_DYNAMIC",
                .arch = "x86_64",
                .boot_id = "5e1f",
                .virtualisation = "none",
                .container = "",
                .online_cpus = 8,
                .possible_cpus = 16};
  found.lockdown = "none";
  found.unprivileged_bpf_disabled = 2;
  found.cgroups = CgroupLayout::v2;
  found.tracefs = "/sys/kernel/tracing";
  found.clocksource = "tsc";
  found.clock_read_ns = 21.4;
  found.capabilities = {"bpf", "perfmon", "sys_admin"};
  found.real_time = {.runtime_ns = 950'000'000, .period_ns = 1'000'000'000};
  found.has_debug_files = true;
  return found;
}

/// Everything works natively.
Diagnosis healthy() {
  Diagnosis found = any_machine();
  found.tested = true;
  found.commands = {{.name = "syscalls", .how = "typed tracepoints", .native = {}},
                    {.name = "worst irqsoff", .how = "the kernel's tracer", .native = {}}};
  found.facilities = {{"btf", "types of the running kernel", {}}};
  found.calibration = Calibration{
      .base_ns = 80, .traced_ns = 190.4, .bystander_ns = 130, .spread = 0.02, .rounds = 9};
  return found;
}

/// A guest that is locked down, in a container with a hostile name.
Diagnosis locked_down() {
  Diagnosis found = any_machine();
  found.host.name = "ev\x1b[31mil";
  found.host.virtualisation = "kvm";
  found.host.container = "docker";
  found.lockdown = "integrity";
  found.tracefs = "";
  found.clocksource = "hpet";
  found.clock_read_ns = 1210;
  found.has_debug_files = false;
  found.perf_maps = 3;
  const Support no_tracer =
      Support::no("the kernel has no tracer irqsoff", "boot a kernel with CONFIG_IRQSOFF_TRACER=y");
  found.commands = {{.name = "syscalls", .how = "typed tracepoints", .native = {}},
                    {.name = "worst irqsoff",
                     .availability = Availability::by_substitute,
                     .how = "lower bounds from work that was delayed",
                     .native = no_tracer},
                    {.name = "func",
                     .availability = Availability::not_here,
                     .how = "",
                     .native = Support::no("kprobes are refused (lockdown)", "boot without it"),
                     .in_version = false}};
  found.facilities = {{"btf", "types of the running kernel", {}},
                      {"irqsoff", "the tracer irqsoff", no_tracer}};
  found.traps = {{"clocksource", "reading the clock hpet takes 1.21us", "use tsc"}};
  found.no_calibration = "this needs root";
  return found;
}

TEST(DoctorGolden, AHealthyMachine) {
  expect_golden("doctor/healthy.txt", doctor_text(healthy(), false));
  expect_golden("doctor/healthy_verbose.txt", doctor_text(healthy(), true));
  expect_golden("doctor/healthy.json", doctor_json(healthy()));
}

TEST(DoctorGolden, ALockedDownGuest) {
  expect_golden("doctor/locked_down.txt", doctor_text(locked_down(), false));
  expect_golden("doctor/locked_down_verbose.txt", doctor_text(locked_down(), true));
  expect_golden("doctor/locked_down.json", doctor_json(locked_down()));
}

}  // namespace
}  // namespace overdue
